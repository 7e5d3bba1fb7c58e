"""Whether a training may be resumed: its settings and its text must be those that it began with."""

from pathlib import Path
from typing import Any, NamedTuple

from lookback.common.configs import changes_no_number, flattened, with_present_targets
from lookback.common.errors import InputError
from lookback.data import Tokenizer, TranslationData
from lookback.runs.checkpoint import is_torn, read_checkpoint
from lookback.runs.directory import RunDirectory

_FIXED = (
    "parameters",  # first: sizes follow from it
    "attention",
    "encoder",
    "decoder",
    "data",
    "tokenizer",
    "batch",
    "loss",
    "label_smoothing",
    "scheduled_sampling",
    "optimizer",
    "scheduler",
    "seed",
    "matmul_precision",
)
"""Settings, and groups of settings, that a resumed training cannot change, but for those that change no number."""


class Resumed(NamedTuple):
    """Where a training goes on."""

    path: Path
    """The checkpoint."""
    update: int
    epoch: int
    config: dict[str, Any]
    text: dict[str, str]
    """The fingerprint of each split; empty in a checkpoint of an earlier version."""

    @property
    def arm(self) -> Any:
        """What the run is called in comparisons; None in a checkpoint that does not say it."""
        names = self.config.get("names")
        return names.get("arm") if isinstance(names, dict) else None


def resumed_from(run: RunDirectory) -> Resumed | None:
    """The last checkpoint, or the best where the last is missing or torn; None where the training starts anew.

    A checkpoint that is torn, or no whole state of the training, is said and passed over: from it the training would
    go on with other numbers.

    Raises:
        InputError: if a checkpoint is whole and yet cannot be read, as one of another program.
    """
    found = [path for path in (run.last, run.best) if path.is_file()]
    for path in found:
        if is_torn(path):
            print(f"note: {path}: torn, so nothing can be read from it", flush=True)
            continue
        checkpoint = read_checkpoint(path)
        if missing := what_is_missing(checkpoint):
            print(f"note: {path}: {missing}, so no training can go on from it", flush=True)
            continue
        text = checkpoint.get("text")
        known = text if isinstance(text, dict) else {}
        return Resumed(path, checkpoint["global_step"], checkpoint["epoch"], checkpoint["config"], known)
    if found or run.status.is_file():
        print(f"note: {run.path}: no checkpoint to go on from; the training starts anew", flush=True)
    return None


def what_is_missing(checkpoint: dict[str, Any]) -> str | None:
    """What a checkpoint lacks of a whole state of its training; None if it lacks nothing.

    The best checkpoint is written at any validation, also between the batches of one update
    (``trainer.accumulate_grad_batches``). ``LastCheckpoint`` is not written there.
    """
    if not checkpoint.get("optimizer_states"):
        return "weights without the state of the optimizer"
    try:
        progress = checkpoint["loops"]["fit_loop"]["epoch_loop.batch_progress"]
        batches, is_last = progress["current"]["ready"], progress["is_last_batch"]
        of_an_update = checkpoint["config"]["trainer"]["accumulate_grad_batches"]
        is_within_update = batches % of_an_update and not is_last
    except (KeyError, TypeError, ZeroDivisionError):
        return "no place in the training in it"
    return "written between the batches of an update, without their gradients" if is_within_update else None


def check_same_settings(before: dict[str, Any], now: dict[str, Any], run: RunDirectory) -> None:
    """Checks that a resumed training has the network, data, loss, optimizer and schedule that it began with.

    A changed value would have no effect, because the checkpoint restores the old one. So it is refused.

    Args:
        before: the config in the checkpoint.
        now: the config of this start.
        run: the run directory, for the message.

    Raises:
        InputError: if a setting differs.
    """
    before, now = (with_present_targets(_with_later_settings(config)) for config in (before, now))
    before, now = (
        {**config, "trainer.precision": config.get("trainer", {}).get("precision")} for config in (before, now)
    )
    for group in (*_FIXED, "trainer.precision"):
        old, new = flattened(group, before.get(group)), flattened(group, now.get(group))
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) != new.get(key) and not changes_no_number(key):
                raise InputError(
                    f"{run.path}: holds a run with {key}={old.get(key)}, which cannot go on with {key}={new.get(key)}; "
                    "expected the same value, or another directory"
                )


def _with_later_settings(config: dict[str, Any]) -> dict[str, Any]:
    """With what a checkpoint does not hold that was written before these settings existed."""
    added: dict[str, dict[str, Any]] = {"loss": {"normalize": "tokens", "coverage": 0.0}, "decoder": {"looks": "top"}}
    groups = {group: {**later, **config.get(group, {})} for group, later in added.items()}
    return {"scheduled_sampling": 0.0, "parameters": None, **config, **groups}


def check_not_shorter(resumed: Resumed, max_epochs: int) -> None:
    """Checks that the training has not trained for more epochs than it is now to have.

    Raises:
        InputError: if it has.
    """
    if max_epochs != -1 and resumed.epoch > max_epochs:
        raise InputError(
            f"trainer.max_epochs={max_epochs}: the run has trained for {resumed.epoch}; expected that many or more"
        )


def check_same_text(resumed: Resumed, data: TranslationData, run: RunDirectory) -> None:
    """Checks that the text is the one that the run was started with, and gives the same tokenizers.

    Of a stream only the tokenizers are known, which are learnt from its beginning.

    Raises:
        InputError: if a split or a tokenizer differs.
    """
    for split, fingerprint in data.fingerprints.items():
        if resumed.text.get(split, fingerprint) != fingerprint:
            raise InputError(
                f"{run.path}: holds a run with another {split} text than data.{split} gives now; "
                "expected the text that it began with, or another directory"
            )
    for side, tokenizer in (("source", data.source_tokenizer), ("target", data.target_tokenizer)):
        if Tokenizer.load(run.tokenizers / f"{side}.json").to_json() != tokenizer.to_json():
            raise InputError(
                f"{run.path}: holds a run with another {side} tokenizer than the training text gives now; "
                "expected the text that it began with, or another directory"
            )
