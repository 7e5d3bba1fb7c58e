"""A record of results.json, for tests of what makes it and of what reads it."""

from lookback.evaluation import results
from lookback.runs import Prediction

COST = {
    "parameters": 10,
    "updates": 20,
    "target_tokens": 30,
    "seconds": 4.0,
    "tokens_per_second": 7.5,
    "peak_memory_mb": None,
    "waiting": 0.01,
    "flops_per_token": 4e6,
    "products": "float32 products (matmul_precision=highest)",
}


TRAINING_DATA = {
    "pairs": 5,
    "dropped": {"a side without words": 1},
    "overlap": {"pairs": 0, "sources": 1},
    "source_tokens": 50,
    "target_tokens": 60,
    "source_unknown": 0.0,
    "target_unknown": 0.25,
    "source_vocabulary": 20,
    "target_vocabulary": 21,
    "padding_waste": 0.01,
}


CONVERGENCE = {
    "validation_bleu": 30.0,
    "validation_perplexity": 1.7,
    "rise": None,
    "since_update": 80,
    "updates": 100,
}


PREDICTIONS = [
    Prediction(0, "a b c d", "le chat est là .", "le chat est là .", -0.1, 4, False),
    Prediction(1, "a b c d e f g h i j k", "un deux trois quatre cinq", "un deux quatre trois", -0.9, 11, True),
]


LINKS = {"aer": 0.25, "precision": 0.7, "recall": 0.8}


AER = {"sentences": 2, "shift_0": LINKS, "shift_-1": dict.fromkeys(LINKS)}


SIGHT = {"entropy": 0.5, "sharpness": 0.6, "coverage": 0.7, "monotonicity": 0.8, "diagonality": 0.9}


def score(
    predictions=PREDICTIONS,
    tokenize="none",
    perplexity=3.5,
    cost=COST,
    segments=None,
    aer=AER,
    attention_by_length=None,
    convergence=None,
    agreement=None,
):
    """The record of a run of these predictions; whatever else is asked of it has a value made up here."""
    return results(
        predictions,
        tokenize,
        arm="dot",
        attention="dot",
        seed=1,
        data="grammar",
        perplexity=perplexity,
        aer=aer,
        attention_by_length=attention_by_length,
        convergence=convergence,
        cost=cost,
        training_data=TRAINING_DATA,
        versions={"python": "3.11"},
        git=None,
        data_fingerprint="f00d",
        segments=segments,
        agreement=agreement,
    )
