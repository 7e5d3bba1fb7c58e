"""`test/alignments.npz`: where a model looked at moments of its training, and where it should have.

ids, source, target     (sentences,) row in the test set; the words of its raw text, with a space between them
epochs, updates         (moments,) epochs and updates of training before each moment
offsets, rows, columns  (sentences,) sentence i is weights[m, offsets[i]:][: rows[i] · columns[i]], row-major
weights                 (moments, cells) float16: a row a target word, a column a source word, end marks last
looks, look_weights     (looks,) names of the layers and heads, where there are several; (looks, cells) float16: the
                        weights of each at the last moment, of which `weights` has the mean
sure, possible          (links, 3) gold: the sentence's place in the sample, source word, target word
has_gold                () whether the test set has gold links
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookback.common.errors import InputError
from lookback.common.files import atomic_write
from lookback.common.visible_text import visible
from lookback.common.words import Link
from lookback.runs.arrays import COUNTS, Kind, read_arrays


@dataclass(frozen=True, eq=False)
class AlignedSentence:
    """A pair of the test set, and where the model looked while it was made to write the reference."""

    id: int
    """Row of the test set"""
    source: tuple[str, ...]
    """Words of the raw source, without the end mark"""
    target: tuple[str, ...]
    """Words of the raw reference, without the end mark"""
    weights: NDArray[np.float16]
    """(moments, target words + 1, source words + 1), end marks last; a diverged model may have left NaN"""
    sure: tuple[Link, ...]
    """Gold links that annotators are sure of: (source word, target word)"""
    possible: tuple[Link, ...]
    """Gold links that are right too, but not asked for"""
    looks: NDArray[np.float16] | None = None
    """(looks, target words + 1, source words + 1), of each layer and head at the last moment; None where one alone
    looks, and in a file of an earlier version"""


@dataclass(frozen=True, eq=False)
class Alignments:
    """A sample of the test set, looked at by one run at the same moments."""

    epochs: tuple[float, ...]
    """Epochs of training before each moment"""
    updates: tuple[int, ...] | None
    """The same in updates; None in a file of version 0.1, which has a moment an epoch"""
    has_gold: bool
    sentences: tuple[AlignedSentence, ...]
    looks: tuple[str, ...] = ()
    """Names of the layers and heads, as `aer_by_look` of results.json has them; empty where one alone looks"""


def write_alignments(path: Path | str, alignments: Alignments) -> None:
    """Write the file, whole or not at all."""
    sentences = alignments.sentences
    shapes = np.array([sentence.weights.shape[1:] for sentence in sentences]).reshape(-1, 2)
    cells = np.prod(shapes, axis=1)
    sure, possible = (
        np.array(
            [(place, i, j) for place, one in enumerate(sentences) for i, j in getattr(one, name)], dtype=np.int64
        ).reshape(-1, 3)
        for name in ("sure", "possible")
    )
    moments = len(alignments.epochs)
    looks: dict[str, Any] = {}
    if names := alignments.looks:
        of_looks = [one.looks.reshape(len(names), -1) for one in sentences if one.looks is not None]
        looks = {"looks": np.array(names), "look_weights": np.concatenate(of_looks, axis=1)}
    with atomic_write(path) as file:
        np.savez_compressed(
            file,
            ids=np.array([sentence.id for sentence in sentences]),
            source=np.array([" ".join(sentence.source) for sentence in sentences]),
            target=np.array([" ".join(sentence.target) for sentence in sentences]),
            epochs=np.array(alignments.epochs),
            updates=np.array(alignments.updates),
            offsets=np.cumsum(cells) - cells,
            rows=shapes[:, 0],
            columns=shapes[:, 1],
            weights=np.concatenate([sentence.weights.reshape(moments, -1) for sentence in sentences], axis=1),
            sure=sure,
            possible=possible,
            has_gold=np.array(alignments.has_gold),
            **looks,
        )


def read_alignments(path: Path | str) -> Alignments:
    """Read what a training wrote. Raises `InputError` for anything else, and where the arrays do not fit together."""
    expected = "expected an alignments.npz that a training wrote"
    arrays = read_arrays(path, _KINDS, expected)
    if missing := [name for name in _KINDS if name not in (*arrays, *_LATER)]:
        raise InputError(f"{path}: no {', '.join(missing)}; {expected}")
    try:
        return _alignments(arrays)
    except (ValueError, IndexError) as error:
        raise InputError(f"{path}: {' '.join(str(error).split())}; {expected}") from None


_LATER = ("updates", "sure", "possible", "has_gold", "looks", "look_weights")
"""What a file of an earlier version lacks; the looks are in no file of a model that has one look"""
_KINDS = {
    "ids": COUNTS,
    "source": Kind("U", 1),
    "target": Kind("U", 1),
    "epochs": Kind("iuf", 1),
    "updates": COUNTS,
    "offsets": COUNTS,
    "rows": COUNTS,
    "columns": COUNTS,
    "weights": Kind("f", 2),
    "looks": Kind("U", 1),
    "look_weights": Kind("f", 2),
    "sure": Kind("iu", 2),
    "possible": Kind("iu", 2),
    "has_gold": Kind("b", 0),
}


def _alignments(arrays: dict[str, NDArray[Any]]) -> Alignments:
    ids, weights, epochs = arrays["ids"], arrays["weights"], arrays["epochs"]
    sentences, moments = len(ids), len(epochs)
    for name in ("source", "target", "offsets", "rows", "columns"):
        _expect(name, arrays[name].shape, (sentences,))
    cells = arrays["rows"] * arrays["columns"]
    _expect("weights", weights.shape, (moments, int(cells.sum())))
    if moments == 0:
        raise ValueError("no moment of training in it")
    if not np.array_equal(arrays["offsets"], np.cumsum(cells) - cells):
        raise ValueError("offsets are not where the sentences before end")
    _expect_shares("weights", weights)
    updates = arrays.get("updates")
    if updates is not None:
        _expect("updates", updates.shape, (moments,))
    links = {name: _links(name, arrays, sentences) for name in ("sure", "possible")}
    return Alignments(
        epochs=tuple(float(epoch) for epoch in epochs),
        updates=None if updates is None else tuple(int(update) for update in updates),
        has_gold=bool(arrays["has_gold"]) if "has_gold" in arrays else False,
        sentences=tuple(_sentence(arrays, index, links) for index in range(sentences)),
        looks=_looks(arrays),
    )


def _looks(arrays: dict[str, NDArray[Any]]) -> tuple[str, ...]:
    """Names of the layers and heads; none where one alone looks, and in a file of an earlier version."""
    cells = arrays["weights"].shape[1]
    names = arrays.get("looks", np.zeros(0, "U1"))
    weights = arrays.get("look_weights", np.zeros((0, cells), np.float16))
    _expect("look_weights", weights.shape, (len(names), cells))
    _expect_shares("look_weights", weights)
    return tuple(visible(str(name)) for name in names)


def _sentence(arrays: dict[str, NDArray[Any]], index: int, links: dict[str, list[list[Link]]]) -> AlignedSentence:
    rows, columns, start = (int(arrays[name][index]) for name in ("rows", "columns", "offsets"))
    source, target = (_words(str(arrays[name][index])) for name in ("source", "target"))
    if (len(target) + 1, len(source) + 1) != (rows, columns):
        raise ValueError(
            f"sentence {index} has {rows} rows and {columns} columns, "
            f"expected a row for each of {len(target)} target words, a column for each of {len(source)} source words, "
            "and one more for the end mark"
        )
    looks = arrays["look_weights"][:, start : start + rows * columns] if "look_weights" in arrays else None
    for name in ("sure", "possible"):
        if any(s >= len(source) or t >= len(target) for s, t in links[name][index]):
            raise ValueError(f"{name} links a word that sentence {index} does not have")
    return AlignedSentence(
        id=int(arrays["ids"][index]),
        source=source,
        target=target,
        weights=arrays["weights"][:, start : start + rows * columns].reshape(-1, rows, columns),
        looks=None if looks is None else looks.reshape(-1, rows, columns),
        sure=tuple(links["sure"][index]),
        possible=tuple(links["possible"][index]),
    )


def _words(text: str) -> tuple[str, ...]:
    """Only a space is between words: a word may hold any other white space."""
    return tuple(text.split(" ")) if text else ()


def _links(name: str, arrays: dict[str, NDArray[Any]], sentences: int) -> list[list[Link]]:
    """The links of each sentence; none of any in a file of version 0.1."""
    of: list[list[Link]] = [[] for _ in range(sentences)]
    if name not in arrays:
        return of
    links = arrays[name]
    _expect(name, links.shape, (len(links), 3))
    if len(links) and (links.min() < 0 or links[:, 0].max() >= sentences):
        raise ValueError(f"{name} links a sentence that is not there")
    for sentence, source, target in links.tolist():
        of[sentence].append((source, target))
    return of


def _expect_shares(name: str, weights: NDArray[Any]) -> None:
    # NaN compares as false: it stays, as a diverged model's
    if (weights < 0).any() or (weights > 1.01).any():
        raise ValueError(f"{name} from {weights.min()} to {weights.max()}, expected 0 to 1")


def _expect(name: str, found: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if found != expected:
        raise ValueError(f"{name} has shape {found}, expected {expected}")
