"""Where a model looks when it is made to write a given translation, in words of the raw text."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from lookback.common.special_tokens import PAD
from lookback.data import Batch, Tokenizer
from lookback.evaluation import merge_to_words
from lookback.nn import Network


class WordWeights:
    """Gives the weights of known pairs by forced decoding, merged to words, whatever the tokenizers.

    The words are those of ``Tokenizer.alignment_words``, and in a script that has spaces those of ``str.split()``.
    """

    def __init__(self, network: Network, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer) -> None:
        self.network = network
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer

    @torch.inference_mode()
    def __call__(self, batch: Batch, texts: Sequence[Mapping[str, str]]) -> list[NDArray[np.float64]]:
        """Of each pair (target words + 1, source words + 1), end marks last: row j is the look that wrote word j.

        In training mode dropout acts, so that the weights are not those of a test.

        Args:
            batch: the encoded pairs, on the model's device.
            texts: the raw text of each, under ``source`` and ``target``.

        Errors: ValueError if the texts are not those of the batch.
        """
        if len(texts) != len(batch):
            raise ValueError(f"texts: {len(texts)} of them, expected {len(batch)}, a row of the batch each")
        _, looked = self.network.unroll(batch.inputs, self.network.encode(batch.source, batch.source_length))
        weights = looked.cpu().double().numpy()
        sizes = zip((batch.outputs != PAD).sum(1).tolist(), batch.source_length.tolist(), strict=True)
        merged = []
        for cells, (rows, columns), text in zip(weights, sizes, texts, strict=True):
            target, target_words = _words(self.target_tokenizer, text["target"])
            source, source_words = _words(self.source_tokenizer, text["source"])
            merged.append(merge_to_words(cells[:rows, :columns], target, source, target_words, source_words))
        return merged


def _words(tokenizer: Tokenizer, text: str) -> tuple[list[int], int]:
    """The word of each token, and how many words there are; the end mark is the last of both."""
    words = len(tokenizer.alignment_words(text))
    return [*tokenizer.pieces(text)[1], words], words + 1
