"""The Python interface of a trained run: it translates, aligns and scores text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from omegaconf import DictConfig, OmegaConf
from torch import nn
from torch.overrides import TorchFunctionMode

from lookback.common.configs import missing_target, one_line
from lookback.common.errors import InputError
from lookback.common.special_tokens import EOS
from lookback.common.trust import check_trusted, name_shown, names_any, plain_text, trusted_names
from lookback.common.words import UNKNOWN_WORDS, Link
from lookback.data import Batch, BucketBatchSampler, Tokenizer, encode_sources
from lookback.data.preparation.encoding import encode_arrays
from lookback.evaluation import shifted_links
from lookback.nn import Seq2Seq
from lookback.nn.kernels.caches import bound_kernel_caches
from lookback.runs.directory import RunDirectory
from lookback.search import BeamSearch, Hypothesis, Search, force
from lookback.translation.build import build_model
from lookback.translation.word_weights import WordWeights
from lookback.translation.writing import Writer, read_dictionary

if TYPE_CHECKING:
    import altair

SearchPrecision = Literal["32-true", "bf16-mixed"]
"""Of the products of a search. The names are Lightning's."""

_NETWORK = "model."
"""The prefix of the network's weights in a checkpoint, which also has other values of the Lightning module."""
_OF_TRAINING = ("callbacks", "logger", "trainer")
"""The parts of a config that only a training builds."""
_OF_NETWORK = ("encoder", "decoder", "attention")
_BATCH = 64
"""Sentences that are computed together. It changes no number."""


@dataclass(frozen=True, eq=False)
class Translation:
    """A sentence and its translation by a model."""

    source: str
    text: str
    score: float
    """The log-probability over the length, by which translations of a sentence are ranked."""
    log_probability: float
    """Of all tokens and the end mark, in nats."""
    truncated: bool
    """Whether the length limit cut it off before its end mark."""
    source_tokens: list[str]
    """The source as the model reads it, its end mark last."""
    target_tokens: list[str]
    """The text as the model wrote it, its end mark last unless ``truncated``."""
    weights: NDArray[np.float64] = field(repr=False)
    """(target tokens, source tokens): the attention weights of each target token."""
    links: list[Link] = field(repr=False)
    """(source word, target word) for each word of the text: the source word with the largest attention weight."""

    def plot(self) -> altair.LayerChart:
        """The heat map of ``weights``. A notebook shows it, and ``save("alignment.svg")`` writes it.

        Raises:
            ValueError: if the source has no words.
        """
        if not self.target_tokens:
            raise ValueError(
                f"source={self.source!r}: expected a text with words, because others have no weights to draw"
            )
        from lookback.report.charts.alignment_chart import alignment_chart

        return alignment_chart(self.source_tokens, self.target_tokens, self.weights, self.text)


class Translator:
    """A trained model with its tokenizers, on one device. ``Translator.load`` makes one from a run directory.

    Its methods raise ``ValueError``, with the argument's name, if they are not given lists of texts.

    Args:
        run: the run directory.
        config: of the training.
        source_tokenizer: of the source language.
        target_tokenizer: of the target language.
        model: in evaluation mode.
        unknown_words: what is written for unknown words, see ``read_dictionary``.
        precision: of the search. With ``bf16-mixed`` some translations differ: two words that are about as likely may
            change places. Alignments of given pairs and their scores are float32 always.
    """

    def __init__(
        self,
        run: RunDirectory,
        config: DictConfig,
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer,
        model: Seq2Seq,
        unknown_words: str,
        precision: SearchPrecision = "32-true",
    ) -> None:
        self.run = run
        self.config = config
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.model = model
        if precision not in get_args(SearchPrecision):
            raise ValueError(f"precision={precision!r}: expected 32-true or bf16-mixed")
        self._narrow = precision == "bf16-mixed"
        if self._narrow:
            bound_kernel_caches()
        with self._products():
            self._laid_out = model.laid_out()
        entries = read_dictionary(unknown_words)
        self.writer = Writer(source_tokenizer, target_tokenizer, entries if self.looks_back else None)
        self.word_weights = WordWeights(model, source_tokenizer, target_tokenizer)

    @classmethod
    def load(
        cls,
        path: Path | str,
        device: torch.device | str | None = None,
        unknown_words: str | None = None,
        trust: str | Sequence[str] = (),
        precision: SearchPrecision = "32-true",
    ) -> Translator:
        """Loads the best checkpoint of a run directory.

        Args:
            path: the run directory.
            device: None: a GPU if there is one.
            unknown_words: what is written for unknown words, see ``read_dictionary``. None: as the run does, if that
                is no file, because a run of somebody else's may name any.
            trust: ``MODULE.NAME`` of each class and function that the run's config may name beside lookback's own,
                because they run; ``oc.env`` lets it read environment variables.
            precision: of the search, see ``Translator``.

        Raises:
            InputError: if there is no trained run, if its config names anything else, or if it writes words of a file.
        """
        run = RunDirectory.existing(path)
        checkpoint = run.checkpoint()
        trusted = trusted_names(trust)
        # never built from a run, so a callback of the user's own needs no trust here
        used = {key: value for key, value in checkpoint["config"].items() if key not in _OF_TRAINING}
        check_trusted(used, trusted, f"run={run.path}")
        words: Any = used.get("unknown_words") if unknown_words is None else unknown_words
        if unknown_words is None and words not in UNKNOWN_WORDS:
            raise InputError(
                f"run={run.path}: unknown_words={name_shown(words)} in its config: a file has to be named by yourself; "
                f"expected unknown_words=FILE, or one of {', '.join(UNKNOWN_WORDS)}"
            )
        config = OmegaConf.create({**plain_text(used, trusted), "unknown_words": words})
        if isinstance(config.get("data"), DictConfig) and "cache" in config.data:
            config.data.cache = None  # a corpus writes there
        weights = {
            name.removeprefix(_NETWORK): value
            for name, value in checkpoint["state_dict"].items()
            if name.startswith(_NETWORK)
        }
        source = Tokenizer.load(run.tokenizers / "source.json")
        # a joint tokenizer is one object, and its network has one embedding
        names = [f"{part}.embedding.weight" for part in ("encoder", "decoder")]
        if missing := [name for name in names if name not in weights]:
            raise InputError(f"{run.path}: no {missing[0]} in its checkpoint; expected one of lookback's")
        tables = [weights[name].data_ptr() for name in names]
        is_joint = tables[0] == tables[1]
        target = source if is_joint else Tokenizer.load(run.tokenizers / "target.json")
        sizes = (len(source), len(target), is_joint)
        try:
            # a class of the user's own may not know torch's meta device
            if not names_any({part: used.get(part) for part in _OF_NETWORK}, trusted):
                _check_shapes(config, sizes, weights)
            model = build_model(config, *sizes)
            model.load_state_dict(weights)
        except InputError:
            raise
        except Exception as error:  # a config of something else ends in any of them
            if absent := missing_target(error):
                said = f"run={run.path}: {absent} is not there; expected its file in this directory, or installed"
            else:
                said = f"{run.path}: its weights are not those of its config ({one_line(error)[:300]})"
            raise InputError(said) from error
        if unusable := [name for name, value in weights.items() if not value.isfinite().all()]:
            raise InputError(f"{run.path}: {unusable[0]} holds values that are not finite: this training diverged")
        model.eval().to(_device(device))
        return cls(run, config, source, target, model, words, precision)

    @property
    def looks_back(self) -> bool:
        """Whether the model looks back at source words. If not, all its weights are equal and have no meaning."""
        return self.model.looks_back

    @property
    def device(self) -> torch.device:
        """The device of the model."""
        return next(self.model.parameters()).device

    def translate(self, texts: Sequence[str], beam_size: int = 5) -> list[Translation]:
        """The best translation of each text. A text without words gets the empty translation."""
        return [best for best, *_ in self.n_best(texts, beam_size)]

    def n_best(self, texts: Sequence[str], beam_size: int = 5, n_best: int = 1) -> list[list[Translation]]:
        """The ``n_best`` best translations of each text, best first, or fewer if the search finds fewer."""
        lines = _texts("texts", texts)
        found = self.search(lines, BeamSearch(beam_size=beam_size, n_best=n_best))
        return [
            [self._translation(line, hypothesis) for hypothesis in hypotheses]
            for line, hypotheses in zip(lines, found, strict=True)
        ]

    def search(self, lines: Sequence[str], search: Search, batch_size: int = _BATCH) -> list[list[Hypothesis]]:
        """The hypotheses of each line, best first. A line without words gets the empty translation.

        Args:
            lines: the raw texts. The more there are, the less time each takes.
            search: finds the hypotheses.
            batch_size: how many lines are computed together, those of about one length. It changes no
                hypothesis in float32; with ``bf16-mixed`` it may change words that are about as likely as others.
        """
        nothing = Hypothesis([], 0.0, 0.0, torch.zeros(0, 1), truncated=False)
        found = [[nothing] for _ in lines]
        # lines of about one length have little padding, and end at about the same step
        with_words = sorted((i for i, line in enumerate(lines) if line.split()), key=lambda i: len(lines[i].split()))
        for start in range(0, len(with_words), batch_size):
            chosen = with_words[start : start + batch_size]
            batch = encode_sources([lines[i] for i in chosen], self.source_tokenizer).to(self.device)
            with self._products():
                hypotheses = search(self._laid_out, batch.source, batch.source_length)
            for i, several in zip(chosen, hypotheses, strict=True):
                found[i] = several
        return found

    def align(self, sources: Sequence[str], targets: Sequence[str]) -> list[list[Link]]:
        """The links of each pair: for each target word the source word with the largest attention weight.

        Returns:
            For each pair a list of (source word, target word), empty if a side has no words.

        Raises:
            InputError: if the model does not look back.
        """
        if not self.looks_back:
            raise InputError(f"{self.run.path}: {self.why_no_alignment}")
        return [
            [] if weights is None else sorted(shifted_links(weights, 0))
            for weights in self.attention_weights(sources, targets)
        ]

    def attention_weights(
        self, sources: Sequence[str], targets: Sequence[str], batch_size: int = _BATCH
    ) -> list[NDArray[np.float64] | None]:
        """The attention weights of each pair, when the model is forced to write the target.

        Args:
            sources: the raw texts.
            targets: a translation of each.
            batch_size: how many pairs are computed together. It changes no number.

        Returns:
            For each pair an array (target words + 1, source words + 1) in words of the raw text, end marks last; None
            if a side has no words.
        """
        rows = _pairs(sources, targets)
        found: list[NDArray[np.float64] | None] = [None] * len(rows)
        for batch in self._batches(rows, batch_size):
            ids = batch.ids.tolist()
            for i, weights in zip(ids, self.word_weights(batch, [rows[i] for i in ids]), strict=True):
                found[i] = weights
        return found

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[float | None]:
        """The score of each target as a translation of its source, see ``Translation.score``. Higher is likelier.

        Returns:
            A score for each pair; None if a side has no words.
        """
        rows = _pairs(sources, targets)
        found: list[float | None] = [None] * len(rows)
        for batch in self._batches(rows, _BATCH):
            hypotheses = force(self.model, batch.source, batch.source_length, batch.target)
            for i, hypothesis in zip(batch.ids.tolist(), hypotheses, strict=True):
                found[i] = hypothesis.score
        return found

    @property
    def why_no_alignment(self) -> str:
        """The part of an error message that says why this model has no alignment."""
        return (
            f"was trained with attention={self.config.names.attention}, which looks at the source as a whole "
            "and has no alignment"
        )

    def _products(self) -> torch.autocast:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self._narrow)

    def _batches(self, rows: Sequence[dict[str, str]], batch_size: int) -> Iterator[Batch]:
        """Batches of the pairs that have words on both sides, sorted by length, on the model's device."""
        with_words = [i for i, row in enumerate(rows) if row["source"].split() and row["target"].split()]
        if not with_words:
            return
        source, target = (pa.array([rows[i][side] for i in with_words], pa.string()) for side in ("source", "target"))
        ids = np.array(with_words, np.int64)
        encoded = encode_arrays(source, target, self.source_tokenizer, self.target_tokenizer, ids)
        sampler = BucketBatchSampler(
            encoded.source.lengths, encoded.target_lengths, batch_size, "sentences", seed=0, shuffle=False
        )
        for chosen in sampler:
            yield encoded[chosen].to(self.device)

    def _translation(self, line: str, hypothesis: Hypothesis) -> Translation:
        end = [] if hypothesis.truncated else [EOS]
        source = [*self.source_tokenizer.encode([line])[0], EOS]
        has_words = len(hypothesis.alignment) > 0
        return Translation(
            source=line,
            text=self.writer.text(line, hypothesis),
            score=hypothesis.score,
            log_probability=hypothesis.log_probability,
            truncated=hypothesis.truncated,
            source_tokens=self.source_tokenizer.tokens(source) if has_words else [],
            target_tokens=self.target_tokenizer.tokens([*hypothesis.tokens, *end]) if has_words else [],
            weights=hypothesis.alignment.double().cpu().numpy() if has_words else np.zeros((0, 0)),
            links=self.writer.links(line, hypothesis),
        )


def _check_shapes(config: DictConfig, sizes: tuple[int, int, bool], weights: Mapping[str, torch.Tensor]) -> None:
    """Checks that a config asks for no other network than its weights are, without memory for one.

    Raises:
        ValueError: if it does.
    """
    for part in ("encoder", "decoder"):
        if isinstance(layers := config[part].get("layers"), int) and layers > len(weights):
            raise ValueError(f"{part}.layers={layers}: there are only {len(weights)} weights")
    with torch.device("meta"), _Undrawn():
        wanted = {name: tuple(value.shape) for name, value in build_model(config, *sizes).state_dict().items()}
    for name in wanted.keys() | weights.keys():
        shapes = [tuple(weights[name].shape) if name in weights else None, wanted.get(name)]
        if shapes[0] != shapes[1]:
            raise ValueError(f"{name} has the shape {shapes[0]}, and the config's {shapes[1]}")


class _Undrawn(TorchFunctionMode):
    """Leaves tensors as they are where normal values would be drawn for them.

    On the meta device there are no values, and the first draw there would import torch's compiler: 1.5 seconds.
    """

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in (nn.init.normal_, torch.Tensor.normal_):
            return kwargs["tensor"] if kwargs and "tensor" in kwargs else args[0]
        return function(*args, **(kwargs or {}))


def _device(device: torch.device | str | None) -> torch.device:
    if device is not None:
        return torch.device(device)
    # check_available: torch built for a GPU names it even if this machine has none
    return torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")


def _pairs(sources: Sequence[str], targets: Sequence[str]) -> list[dict[str, str]]:
    sources, targets = _texts("sources", sources), _texts("targets", targets)
    if len(sources) != len(targets):
        raise ValueError(f"len(targets)={len(targets)}: expected {len(sources)}, one for each source")
    return [{"source": source, "target": target} for source, target in zip(sources, targets, strict=True)]


def _texts(name: str, texts: Any) -> list[str]:
    if isinstance(texts, str):
        raise ValueError(f"{name}={texts!r}: expected a list of texts, such as [{texts!r}]")
    texts = list(texts)
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"{name}[{place}]={text!r}: expected a text")
    return texts
