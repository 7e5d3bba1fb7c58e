"""What a training prints before its first update."""

import sys
from pathlib import Path

from omegaconf import DictConfig

from lookback.data import TranslationData
from lookback.search import LengthRule
from lookback.training.module import TranslationModule


def announce(
    config: DictConfig, data: TranslationData, module: TranslationModule, directory: Path, products: str
) -> None:
    """Prints what is about to be trained: the arm, the sizes of network, data and vocabularies, and the precision.

    Args:
        config: of the training.
        data: after ``setup``.
        module: that is trained.
        directory: of the run.
        products: of matrices, and why these.
    """
    about = data.describe()
    parameters = sum(parameter.numel() for parameter in module.parameters())
    if data.streams:
        training = "training pairs as they come"
    else:
        training = f"{about['train']['pairs']:,} training pairs, {about['train']['target_tokens']:,} target tokens"
    # of a model, such as the Transformer, the attention is a part; of a sweep's job, what is varied stands beside it
    arm = "" if config.names.arm == config.names.attention else f"{config.names.arm}: "
    padding = "" if data.streams else f"padding {about['padding_waste']:.1%}; "
    print(
        f"{arm}attention={config.names.attention}  data={config.names.data}  seed={config.seed}  "
        f"{parameters:,} parameters  in {directory}\n"
        f"{training}; vocabulary {about['source_vocabulary']:,} → {about['target_vocabulary']:,}; {padding}"
        f"validation {about['validation']['pairs']:,}, test {about['test']['pairs']:,} pairs\n"
        f"{products}; validation and test in float32",
        flush=True,
    )


def warn_of_short_limits(data: TranslationData, rule: LengthRule) -> None:
    """Warns if the length limit of the search would cut off many translations.

    The limit counts tokens. It is too short where the target's tokens are much shorter than the source's: one word of
    the source may need five characters of the target. The results count the translations that were cut off, but only
    after the training, so the warning comes before it.
    """
    split = data.describe()["validation"]  # the number of training tokens of a stream is not known
    ratio = (split["target_tokens"] - split["pairs"]) / max(split["source_tokens"] - split["pairs"], 1)
    if ratio > rule.limit_factor:
        print(
            f"warning: a validation target has {ratio:.1f} tokens to one of its source, more than "
            f"search.limit_factor={rule.limit_factor:g} lets a translation have; expected about {2 * ratio:.0f}",
            file=sys.stderr,
        )
