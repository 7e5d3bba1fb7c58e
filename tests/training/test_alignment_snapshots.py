"""Where a model looks, epoch by epoch: test/alignments.npz."""

from pathlib import Path

import numpy as np

from lookback.search import force
from lookback.training.alignment_snapshots import stratified_sample
from lookback.training.build import build_data
from lookback.training.run_directory import RunDirectory
from lookback.training.trained import Trained
from running import run


def test_the_sample_takes_the_first_of_each_bucket() -> None:
    lengths = [70, 5, 10, 11, 1, 20, 21, 65, 9]
    assert stratified_sample(lengths, 2) == [1, 2, 3, 5, 6, 0, 7]
    assert stratified_sample(lengths, 1) == [1, 3, 6, 0]


def test_alignments_are_those_of_forced_decoding(finished: Path) -> None:
    trained, directory = Trained.load(finished), RunDirectory(finished)
    trained.module.load_state_dict(directory.checkpoint(directory.last)["state_dict"])
    data = build_data(trained.config, None, trained.source_tokenizer, trained.target_tokenizer)
    data.setup("test")
    with np.load(finished / "test" / "alignments.npz") as saved:
        saved = dict(saved)
    assert saved["epochs"].tolist() == [1, 2, 3]
    texts = data.texts("test")
    assert saved["ids"].tolist() == stratified_sample([len(text.split()) for text in texts["source"]], 3)
    assert saved["weights"].dtype == np.float16
    assert len(saved["ids"]) == 6
    for i, row in enumerate(saved["ids"].tolist()):
        # words of the raw text, known to the model or not
        assert saved["source"][i] == texts[row]["source"]
        assert saved["target"][i] == texts[row]["target"]
        batch = data.test_dataloader().dataset[np.array([row])]
        (expected,) = force(trained.module.model, batch.source, batch.source_length, batch.target)
        rows, columns = saved["rows"][i], saved["columns"][i]
        assert (rows, columns) == (len(texts[row]["target"].split()) + 1, len(texts[row]["source"].split()) + 1)
        found = saved["weights"][-1, saved["offsets"][i] :][: rows * columns].reshape(rows, columns)
        np.testing.assert_allclose(found, expected.alignment, atol=1e-3)
        np.testing.assert_allclose(found.astype(float).sum(1), 1.0, atol=1e-2)
    assert not np.array_equal(saved["weights"][0], saved["weights"][-1])


def test_a_sanity_check_leaves_no_trace(tmp_path: Path, grammar_cache: str) -> None:
    run(tmp_path, grammar_cache, "trainer.num_sanity_val_steps=2")
    with np.load(tmp_path / "test" / "alignments.npz") as saved:
        assert saved["epochs"].tolist() == [1]
