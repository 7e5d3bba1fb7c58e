"""A trained run, taken up again: its config, its tokenizers, its network."""

from dataclasses import dataclass
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from lookback.data import Tokenizer
from lookback.training.build import build_module
from lookback.training.module import TranslationModule
from lookback.training.run_directory import RunDirectory

_PARTS = ("encoder", "decoder")


@dataclass(frozen=True)
class Trained:
    """What a run directory holds of a model: everything that translates, ready to use."""

    run: RunDirectory
    config: DictConfig
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    module: TranslationModule

    @classmethod
    def load(cls, path: Path | str, unknown_words: str | None = None) -> "Trained":
        """Load the best checkpoint of the run directory ``path``. Raises InputError where there is none.

        unknown_words: in place of the run's own.
        """
        run = RunDirectory.existing(path)
        checkpoint = run.checkpoint()
        config = OmegaConf.create(checkpoint["config"])
        if unknown_words is not None:
            config.unknown_words = unknown_words
        source = Tokenizer.load(run.tokenizers / "source.json")
        # a joint tokenizer is one object: that is how the network knows to have one embedding
        source_table, target_table = (checkpoint["state_dict"].get(f"model.{part}.embedding.weight") for part in _PARTS)
        is_joint = source_table is not None and source_table.data_ptr() == target_table.data_ptr()
        target = source if is_joint else Tokenizer.load(run.tokenizers / "target.json")
        # the corpus' own BLEU tokenizer is only known once a corpus is read; nothing here validates
        module = build_module(config, source, target, bleu_tokenize="none")
        module.load_state_dict(checkpoint["state_dict"])
        module.eval()
        return cls(run, config, source, target, module)
