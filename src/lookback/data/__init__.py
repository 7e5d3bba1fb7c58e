"""Text in: corpora, tokenizers, batches.

Names are imported when first asked for, so that `from lookback.data import Tokenizer` does not wait for torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lookback.data.batching import Batch, BucketBatchSampler, Sentences, Sources, encode_sources
    from lookback.data.corpus import SPLITS, Corpus
    from lookback.data.datamodule import TranslationData, evaluation_loader, fingerprint
    from lookback.data.grammar import GrammarCorpus
    from lookback.data.hub import HubCorpus
    from lookback.data.text import TextCorpus, read_pair
    from lookback.data.tokenization import (
        BPETokenization,
        CharacterTokenization,
        FileTokenization,
        Tokenization,
        UnigramTokenization,
        WordTokenization,
    )
    from lookback.data.tokenizer import Tokenizer
    from lookback.data.words import count_words

_MODULES = {
    "SPLITS": "corpus",
    "BPETokenization": "tokenization",
    "Batch": "batching",
    "BucketBatchSampler": "batching",
    "CharacterTokenization": "tokenization",
    "Corpus": "corpus",
    "FileTokenization": "tokenization",
    "GrammarCorpus": "grammar",
    "HubCorpus": "hub",
    "Sentences": "batching",
    "Sources": "batching",
    "TextCorpus": "text",
    "Tokenization": "tokenization",
    "Tokenizer": "tokenizer",
    "TranslationData": "datamodule",
    "UnigramTokenization": "tokenization",
    "WordTokenization": "tokenization",
    "count_words": "words",
    "encode_sources": "batching",
    "evaluation_loader": "datamodule",
    "fingerprint": "datamodule",
    "read_pair": "text",
}

__all__ = [
    "SPLITS",
    "BPETokenization",
    "Batch",
    "BucketBatchSampler",
    "CharacterTokenization",
    "Corpus",
    "FileTokenization",
    "GrammarCorpus",
    "HubCorpus",
    "Sentences",
    "Sources",
    "TextCorpus",
    "Tokenization",
    "Tokenizer",
    "TranslationData",
    "UnigramTokenization",
    "WordTokenization",
    "count_words",
    "encode_sources",
    "evaluation_loader",
    "fingerprint",
    "read_pair",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
