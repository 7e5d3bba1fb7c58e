"""BLEU as a torchmetrics metric."""

import pytest
import sacrebleu

from lookback.training.metrics import CorpusBleu

HYPOTHESES = ["the cat sat on the mat", "a dog", "he sees the big red house now", ""]
REFERENCES = ["the cat sat on a mat", "the dog barks", "he sees the big red house", "nothing"]


def test_sums_over_batches_are_sacrebleus_corpus_score() -> None:
    metric = CorpusBleu("none")
    metric.update(HYPOTHESES[:1], REFERENCES[:1])
    metric.update(HYPOTHESES[1:], REFERENCES[1:])
    assert float(metric.compute()) == pytest.approx(
        sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES], tokenize="none", force=True).score, abs=1e-4
    )
    metric.reset()
    metric.update(REFERENCES, REFERENCES)
    assert float(metric.compute()) == pytest.approx(100.0)


@pytest.mark.filterwarnings("ignore:The ``compute`` method:UserWarning")
def test_nothing_counted_is_zero() -> None:
    assert float(CorpusBleu("13a").compute()) == 0.0
