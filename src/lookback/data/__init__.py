"""Reading text: corpora, tokenizers, batches.

Names are imported when first asked for, so that ``from lookback.data import Tokenizer`` does not wait for torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lookback.data.batches.batching import Batch, BucketBatchSampler, Sentences, Sources, encode_sources
    from lookback.data.corpora.corpus import SPLITS, Corpus
    from lookback.data.corpora.directory import DirectoryCorpus
    from lookback.data.corpora.hub import HubCorpus
    from lookback.data.corpora.records import RecordsCorpus
    from lookback.data.corpora.text import TextCorpus, read_pair
    from lookback.data.datamodule import TranslationData, evaluation_loader
    from lookback.data.grammar import GrammarCorpus
    from lookback.data.preparation.fingerprint import fingerprint
    from lookback.data.tokenizers.tokenization import (
        BPETokenization,
        CharacterTokenization,
        FileTokenization,
        Tokenization,
        UnigramTokenization,
        WordTokenization,
    )
    from lookback.data.tokenizers.tokenizer import Tokenizer

_MODULES = {
    "BPETokenization": "tokenizers.tokenization",
    "Batch": "batches.batching",
    "BucketBatchSampler": "batches.batching",
    "CharacterTokenization": "tokenizers.tokenization",
    "Corpus": "corpora.corpus",
    "DirectoryCorpus": "corpora.directory",
    "FileTokenization": "tokenizers.tokenization",
    "GrammarCorpus": "grammar",
    "HubCorpus": "corpora.hub",
    "RecordsCorpus": "corpora.records",
    "SPLITS": "corpora.corpus",
    "Sentences": "batches.batching",
    "Sources": "batches.batching",
    "TextCorpus": "corpora.text",
    "Tokenization": "tokenizers.tokenization",
    "Tokenizer": "tokenizers.tokenizer",
    "TranslationData": "datamodule",
    "UnigramTokenization": "tokenizers.tokenization",
    "WordTokenization": "tokenizers.tokenization",
    "encode_sources": "batches.batching",
    "evaluation_loader": "datamodule",
    "fingerprint": "preparation.fingerprint",
    "read_pair": "corpora.text",
}

__all__ = [
    "SPLITS",
    "BPETokenization",
    "Batch",
    "BucketBatchSampler",
    "CharacterTokenization",
    "Corpus",
    "DirectoryCorpus",
    "FileTokenization",
    "GrammarCorpus",
    "HubCorpus",
    "RecordsCorpus",
    "Sentences",
    "Sources",
    "TextCorpus",
    "Tokenization",
    "Tokenizer",
    "TranslationData",
    "UnigramTokenization",
    "WordTokenization",
    "encode_sources",
    "evaluation_loader",
    "fingerprint",
    "read_pair",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
