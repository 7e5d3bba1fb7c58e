"""What a run was trained on, as results.json records it."""

from lookback.data import TranslationData
from lookback.runs import TrainingData


def training_data(data: TranslationData) -> TrainingData:
    """``training_data`` of results.json. The counts of a stream are null."""
    about = data.describe()
    counts = about["train"] or dict.fromkeys(about["test"])
    return {
        "pairs": counts["pairs"],
        "dropped": about["dropped"],
        "overlap": about["overlap"],
        "source_tokens": counts["source_tokens"],
        "target_tokens": counts["target_tokens"],
        "source_unknown": counts["source_unknown"],
        "target_unknown": counts["target_unknown"],
        "source_vocabulary": about["source_vocabulary"],
        "target_vocabulary": about["target_vocabulary"],
        "padding_waste": about["padding_waste"],
    }
