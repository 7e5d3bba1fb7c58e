"""The attention weights of a given translation, in words of the raw text."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lookback.common.special_tokens import PAD
from lookback.data import Batch, Tokenizer
from lookback.evaluation import merge_to_words
from lookback.nn import Network, Seq2Seq


class WordWeights:
    """Computes the attention weights of given pairs by forced decoding, and merges them from tokens to words.

    The words are those of ``Tokenizer.alignment_words``. In a script with spaces these are the words of
    ``str.split()``.

    Args:
        network: whose attention it is.
        source_tokenizer: of the source language.
        target_tokenizer: of the target language.
    """

    def __init__(self, network: Network, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer) -> None:
        self.network = network
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer

    @torch.inference_mode()
    def __call__(self, batch: Batch, texts: Sequence[Mapping[str, str]]) -> list[NDArray[np.float64]]:
        """The weights of each pair. The network should be in evaluation mode, because dropout changes them.

        Args:
            batch: the encoded pairs, on the network's device.
            texts: the raw text of each pair, under ``source`` and ``target``.

        Returns:
            For each pair an array (target words + 1, source words + 1), end marks last. Row j has the weights with
            which target word j was written.

        Raises:
            ValueError: if there are not as many texts as pairs.
        """
        _check_texts(texts, batch)
        memory = self.network.encode(batch.source, batch.source_length)
        _, weights = self.network.unroll(batch.inputs, memory)
        return self._merged(weights, batch, texts)

    @torch.inference_mode()
    def by_look(self, batch: Batch, texts: Sequence[Mapping[str, str]]) -> dict[str, list[NDArray[np.float64]]]:
        """The same of each layer and head, by its name. Empty for a network that has one look.

        Args:
            batch: as above.
            texts: as above.

        Raises:
            ValueError: if there are not as many texts as pairs.
        """
        _check_texts(texts, batch)
        if not isinstance(self.network, Seq2Seq) or not self.network.look_names:
            return {}
        memory = self.network.encode(batch.source, batch.source_length)
        looks = self.network.unroll_looks(batch.inputs, memory).unbind(2)
        named = zip(self.network.look_names, looks, strict=True)
        return {name: self._merged(weights, batch, texts) for name, weights in named}

    def _merged(
        self, weights_of_tokens: Tensor, batch: Batch, texts: Sequence[Mapping[str, str]]
    ) -> list[NDArray[np.float64]]:
        weights = weights_of_tokens.cpu().double().numpy()
        sizes = zip((batch.outputs != PAD).sum(1).tolist(), batch.source_length.tolist(), strict=True)
        merged = []
        for cells, (rows, columns), text in zip(weights, sizes, texts, strict=True):
            target, target_words = _words(self.target_tokenizer, text["target"])
            source, source_words = _words(self.source_tokenizer, text["source"])
            merged.append(merge_to_words(cells[:rows, :columns], target, source, target_words, source_words))
        return merged


def _check_texts(texts: Sequence[Mapping[str, str]], batch: Batch) -> None:
    if len(texts) != len(batch):
        raise ValueError(f"len(texts)={len(texts)}: expected {len(batch)}, one for each row of the batch")


def _words(tokenizer: Tokenizer, text: str) -> tuple[list[int], int]:
    """The number of each token's word, and how many words there are. The end mark is the last of both."""
    words = len(tokenizer.alignment_words(text))
    return [*tokenizer.pieces(text)[1], words], words + 1
