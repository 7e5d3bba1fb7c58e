"""Segments are counted once and read back as they were."""

from dataclasses import fields

import numpy as np
import pytest

from lookback.common.errors import InputError
from lookback.evaluation import chrf_statistics, count, repetition_statistics, sentence_statistics, ter_statistics
from lookback.runs import MissingCounts, Prediction, Segments

PREDICTIONS = [
    Prediction(0, "a b c", "x y z w", "x y z", -1.0, 3, False),
    Prediction(1, "a", "x", "", -1.0, 1, True),
]


def test_counts_words_and_bleu_statistics():
    segments = count(PREDICTIONS, "none")
    assert len(segments) == 2
    assert segments.source_length.tolist() == [3, 1]
    assert segments.reference_length.tolist() == [4, 1]
    assert segments.hypothesis_length.tolist() == [3, 0]
    assert segments.truncated.tolist() == [False, True]
    assert (segments.bleu_statistics == sentence_statistics(["x y z", ""], ["x y z w", "x"], "none")).all()
    assert (segments.chrf_statistics == chrf_statistics(["x y z", ""], ["x y z w", "x"])).all()
    assert (segments.ter_statistics == ter_statistics(["x y z", ""], ["x y z w", "x"])).all()
    assert (segments.repetition_statistics == repetition_statistics(["x y z", ""], ["x y z w", "x"], "none")).all()
    assert segments.trigram_statistics.tolist() == [[0, 1], [0, 0]]
    assert segments.reading_statistics.tolist() == [[0, 0], [0, 0]]
    assert count(PREDICTIONS, "none", reading=[(1, 3), (0, 1)]).reading_statistics.tolist() == [[1, 3], [0, 1]]
    assert segments.position_statistics is None
    assert segments[segments.truncated].source_length.tolist() == [1]


@pytest.mark.parametrize("predictions", [PREDICTIONS, []])
def test_load_gives_back_what_save_wrote(tmp_path, predictions):
    segments = count(predictions, "13a")
    segments.save(tmp_path / "test" / "segments.npz")
    loaded = Segments.load(tmp_path / "test" / "segments.npz")
    for field in fields(Segments):
        expected, found = getattr(segments, field.name), getattr(loaded, field.name)
        if expected is None:
            assert found is None
            continue
        assert found.dtype == expected.dtype
        assert (found == expected).all()


def test_what_is_counted_by_position_is_there_where_there_are_links(tmp_path):
    assert count(PREDICTIONS, "none", [None, []]).position_statistics is None
    segments = count(PREDICTIONS, "none", [[(0, 1), (2, 2)], None])
    assert segments.position_statistics.shape == (2, 16)
    assert segments.position_statistics[:, -1].tolist() == [1, 0]
    segments.save(tmp_path / "segments.npz")
    loaded = Segments.load(tmp_path / "segments.npz")
    assert (loaded.position_statistics == segments.position_statistics).all()
    assert (loaded[np.array([1])].position_statistics == 0).all()


def test_what_is_no_segments_file_is_refused_by_name(tmp_path):
    with pytest.raises(InputError, match=r"absent.npz.*expected a segments.npz"):
        Segments.load(tmp_path / "absent.npz")
    np.savez(tmp_path / "other.npz", source_length=np.zeros(2, int))
    with pytest.raises(
        MissingCounts,
        match=r"other.npz: no reference_length, .*trigram_statistics, reading_statistics; expected",
    ):
        Segments.load(tmp_path / "other.npz")
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04broken")
    with pytest.raises(InputError, match=r"broken.npz"):
        Segments.load(tmp_path / "broken.npz")


def test_arrays_of_different_lengths_are_refused():
    segments = count(PREDICTIONS, "none")
    with pytest.raises(ValueError, match=r"truncated has shape \(1,\), expected \(2,\)"):
        Segments(
            segments.source_length,
            segments.reference_length,
            segments.hypothesis_length,
            segments.truncated[:1],
            segments.bleu_statistics,
            segments.chrf_statistics,
            segments.ter_statistics,
            segments.repetition_statistics,
            segments.trigram_statistics,
            segments.reading_statistics,
        )
