"""From a config to the objects it names. Every key is an explicit constructor argument: a misspelt one is an error."""

from typing import Any

from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from lookback.data import Corpus, Tokenizer, TranslationData
from lookback.errors import settings
from lookback.nn import Seq2Seq, initialize
from lookback.training.module import TranslationModule
from lookback.training.writing import dictionary


def build_data(
    config: DictConfig,
    corpus: Corpus | None = None,
    source_tokenizer: Tokenizer | None = None,
    target_tokenizer: Tokenizer | None = None,
) -> TranslationData:
    """The data that ``config`` names, not yet read; another corpus or given tokenizers take the place of its own."""
    corpus = instantiate(config.data) if corpus is None else corpus
    tokenization = instantiate(config.tokenizer)
    with settings():
        return TranslationData(
            corpus=corpus,
            tokenization=tokenization,
            batch_size=config.batch.size,
            batch_unit=config.batch.unit,
            evaluation_batch_size=config.batch.evaluation_size,
            shuffle_buffer=config.batch.shuffle_buffer,
            seed=config.seed,
            source_tokenizer=source_tokenizer,
            target_tokenizer=target_tokenizer,
        )


def build_model(
    config: DictConfig, source_vocabulary: int, target_vocabulary: int, share_embeddings: bool = False
) -> Seq2Seq:
    """The network that ``config`` names, with first values drawn from torch's seed."""
    encoder = instantiate(config.encoder, vocabulary_size=source_vocabulary)
    attention = instantiate(config.attention, query_size=config.decoder.hidden_size, memory_size=encoder.memory_size)
    decoder = instantiate(
        config.decoder, vocabulary_size=target_vocabulary, attention=attention, init_size=encoder.final_size
    )
    with settings():
        model = Seq2Seq(encoder, decoder, share_embeddings)
    with settings("initialization"):
        initialize(model, config.initialization.deviation, config.initialization.attention_deviation)
    return model


def build_module(
    config: DictConfig, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer, bleu_tokenize: str
) -> TranslationModule:
    """The network with all that trains, validates and tests it. A joint tokenizer, one object, has one embedding."""
    is_joint = source_tokenizer is target_tokenizer
    model = build_model(config, len(source_tokenizer), len(target_tokenizer), share_embeddings=is_joint)
    optimizer, schedule = instantiate(config.optimizer), instantiate(config.scheduler)
    search = instantiate(config.search)
    entries = dictionary(config.unknown_words)
    with settings():
        return TranslationModule(
            model=model,
            optimizer=optimizer,
            schedule=schedule,
            search=search,
            source_tokenizer=source_tokenizer,
            target_tokenizer=target_tokenizer,
            dictionary=entries if model.decoder.attention.looks_back else None,
            bleu_tokenize=bleu_tokenize,
            validation_sentences=config.validation_sentences,
            label_smoothing=config.label_smoothing,
            config=plain(config),
        )


def plain(config: DictConfig) -> dict[str, Any]:
    """The config resolved, in plain containers: what checkpoints and trackers hold."""
    container = OmegaConf.to_container(config, resolve=True)
    assert isinstance(container, dict)
    return {str(key): value for key, value in container.items()}
