"""Where a word stands: without it, a Transformer would not tell a sentence from its words in another order."""

import math
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lookback.common.errors import InputError

PositionName = Literal["sinusoidal", "learned", "rotary"]


class Positions(nn.Module):
    """How a stack of layers knows positions: added to the words, or as a rotation of queries and keys.

    name: ``sinusoidal`` (Vaswani et al. 2017, § 3.5): sines and cosines, defined for every position; ``learned``: a
        table of ``table`` rows (Gehring et al. 2017, § 3.1), and InputError for a position behind it; ``rotary`` (Su et
        al. 2021, eq. 34): nothing is added, and every self-attention compares queries and keys that are rotated by
        their positions, so that an energy depends on their distance. Sines and rotations go on beyond the lengths that
        were trained, but nothing was learned there.
    part: whose words these are, for the error.
    """

    def __init__(self, name: PositionName, size: int, table: int, part: Literal["encoder", "decoder"]) -> None:
        super().__init__()
        self.name = name
        self.size = size
        self.part = part
        self.table = nn.Embedding(table, size) if name == "learned" else None

    @property
    def most(self) -> int | None:
        """How many positions it knows; None where it knows any."""
        return None if self.table is None else self.table.num_embeddings

    def add(self, words: Float[Tensor, "*batch time size"], first: int = 0) -> Float[Tensor, "*batch time size"]:
        """√size · words, and their positions ``first``, ``first + 1``, … where these are added."""
        scaled = words * math.sqrt(self.size)
        end = first + words.shape[-2]
        if self.table is not None:
            if end > self.table.num_embeddings:
                raise InputError(
                    f"{self.part}.positions=learned: position {end} of a sentence, but {self.part}.position_table="
                    f"{self.table.num_embeddings}; expected a shorter sentence, a larger table, or sinusoidal or "
                    "rotary positions"
                )
            return scaled + math.sqrt(self.size) * self.table.weight[first:end]
        if self.name == "sinusoidal":
            return scaled + _waves(first, end, self.size, words).to(words.dtype)
        return scaled

    def rotate(self, values: Float[Tensor, "*batch time head"], first: int = 0) -> Float[Tensor, "*batch time head"]:
        """Queries or keys of one head, rotated by their positions where positions are rotations."""
        if self.name != "rotary":
            return values
        waves = _waves(first, first + values.shape[-2], values.shape[-1], values)
        sines, cosines = (part.to(values.dtype) for part in waves.chunk(2, dim=-1))
        left, right = values.chunk(2, dim=-1)
        return torch.cat([left * cosines - right * sines, right * cosines + left * sines], dim=-1)


def _waves(first: int, end: int, size: int, like: Tensor) -> Float[Tensor, "time size"]:
    """sin(p / 10000^{2k / size}) of all k, then the cosines, in float32 at least."""
    wide = torch.promote_types(like.dtype, torch.float32)
    positions = torch.arange(first, end, device=like.device, dtype=wide)
    rates = torch.exp(torch.arange(0, size, 2, device=like.device, dtype=wide) * (-math.log(10000.0) / size))
    angles = positions.unsqueeze(1) * rates
    return torch.cat([angles.sin(), angles.cos()], dim=-1)
