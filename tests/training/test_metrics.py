"""BLEU and the mean loss as torchmetrics metrics."""

import math

import pytest
import sacrebleu

from lookback.training.metrics import CorpusBleu, TokenMean

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


def test_a_mean_loss_is_of_tokens_not_of_batches() -> None:
    mean = TokenMean()
    mean.update(6.0, 3)
    mean.update(1.0, 1)
    assert float(mean.compute()) == 1.75
    mean.reset()
    mean.update(3.0, 1)
    assert float(mean.compute()) == 3.0


@pytest.mark.filterwarnings("ignore:The ``compute`` method:UserWarning")
def test_the_mean_of_no_token_is_no_number() -> None:
    assert math.isnan(float(TokenMean().compute()))
