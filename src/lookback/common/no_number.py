"""Settings that change no number of a run: jobs, searches, resumed runs and reports leave them out of account."""

_NO_NUMBER = (
    "logger",
    "optimized_metric",
    "batch.evaluation_size",
    "data.cache",
    "callbacks.last.minutes",
    "trainer.accelerator",
    "trainer.devices",
    "trainer.num_nodes",
    "trainer.enable_model_summary",
    "trainer.num_sanity_val_steps",
)
"""Keys of settings, and of groups of settings.

Where a run trains is no part of what it trains, so that a sweep goes on on the machines that there are. On other
devices the last digits differ. With dropout they draw other masks, a GPU as well as a second process: another draw of
the same settings.
"""


def changes_no_number(key: str) -> bool:
    """Whether a setting, by its dotted key, changes no number of a run beyond such a draw and the last digits."""
    return any(key == each or key.startswith(f"{each}.") for each in _NO_NUMBER)
