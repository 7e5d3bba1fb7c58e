"""The Lightning module, which trains, validates and tests the network."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

import lightning
import torch
from lightning.pytorch.plugins.precision import Precision
from lightning.pytorch.utilities.enums import GradClipAlgorithmType
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import ReduceLROnPlateau

from lookback.common.checks import NonNegative, PartialShare, Share, Size, checked
from lookback.common.errors import InputError, config_errors
from lookback.common.words import words
from lookback.data import Batch, Tokenizer, TranslationData
from lookback.evaluation.alignment.attention_quality import AttentionQuality, gold_of
from lookback.nn import LaidOut, Seq2Seq, TokenLoss
from lookback.runs import Prediction
from lookback.search import GreedySearch, Search
from lookback.training.failures import diverged, memory_explained
from lookback.training.metrics import CorpusBleu, TokenMean
from lookback.translation.word_weights import WordWeights
from lookback.translation.writing import Writer

Normalization = Literal["tokens", "sentences"]
"""What the training loss is a mean over."""


@checked
class TranslationModule(lightning.LightningModule):
    """Trains a ``Seq2Seq`` on token cross-entropy, validates it by perplexity and by BLEU of a fixed sample, tests it.

    It logs:

    - ``train/loss``: nats per target token, without label smoothing, the mean over all tokens since it was last logged;
    - ``train/coverage_loss``: the mean of the coverage loss over the same tokens, where it is part of the loss;
    - ``train/learning_rate`` and ``train/gradient_norm``: of one update, the norm before clipping;
    - ``validation/loss``: nats per target token;
    - ``validation/perplexity`` and ``validation/bleu``.

    Args:
        model: the network.
        optimizer: is called with the parameters and returns an optimizer.
        schedule: is called with the optimizer and the total number of updates and returns a learning-rate schedule, as
            the functions of ``lookback.training.schedules`` do.
        search: decodes the test set. Validation decodes greedily.
        source_tokenizer: of the source language.
        target_tokenizer: of the target language.
        dictionary: what replaces unknown words in translations of the test set, see ``Writer``. Validation keeps them.
        bleu_tokenize: sacrebleu's tokenizer for this corpus.
        validation_sentences: how many of the first validation pairs are translated for BLEU.
        label_smoothing: ε of the training loss. Perplexity is always computed without it.
        normalize: what the training loss of a batch is a mean over. ``tokens``: its target tokens. ``sentences``: its
            sentences, each with the sum over its tokens, as in the papers (Cho et al. 2014, eq. 4; Luong et al. 2015,
            eq. 4). The sentences of a batch have about the same length, so a mean over tokens gives a token of a short
            sentence more weight than a token of a long one. With ``trainer.accumulate_grad_batches`` the loss is the
            mean of the batches' losses. With several ranks it is a mean over the batch of all ranks. The logged loss is
            always a mean over tokens.
        scheduled_sampling: the share of the words read in training that are the network's own at its end; it rises
            evenly from 0 (Bengio et al. 2015, § 2.4).
        coverage: λ of the coverage loss (See et al. 2017, eq. 13), which is added to each token's; 0: none.
        config: the whole resolved config in plain containers. Every checkpoint holds it under ``config``, and under
            ``text`` the fingerprint of each split.

    Raises:
        ValueError: if an argument has a value that is not allowed.
    """

    def __init__(
        self,
        model: Seq2Seq,
        optimizer: Callable[..., Optimizer],
        schedule: Callable[[Optimizer, int], dict[str, Any]],
        search: Search,
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer,
        dictionary: Mapping[str, str] | None,
        bleu_tokenize: str,
        validation_sentences: Size,
        label_smoothing: PartialShare,
        normalize: Normalization,
        coverage: NonNegative,
        scheduled_sampling: Share,
        config: dict[str, Any],
    ) -> None:
        super().__init__()
        self.model = model
        self.optimizer = optimizer
        self.schedule = schedule
        self.search = search
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.writer = Writer(source_tokenizer, target_tokenizer, dictionary)
        self.word_weights = WordWeights(model, source_tokenizer, target_tokenizer)
        self.validation_sentences = validation_sentences
        self.label_smoothing = label_smoothing
        self.normalize = normalize
        self.coverage = coverage
        self.scheduled_sampling = scheduled_sampling
        self.config = config
        self.validation_search = GreedySearch(search.rule.limit_factor, search.rule.limit_extra)
        self.train_loss = TokenMean()
        self.train_coverage_loss = TokenMean()
        self._curve_point: dict[str, Tensor] = {}
        """The mean losses since the last logged point, if they are to be logged at the end of this batch."""
        self._batch: Batch | None = None
        """The batch that is trained on."""
        self.validation_loss = TokenMean()
        self.validation_bleu = CorpusBleu(bleu_tokenize)
        self.test_loss = TokenMean()
        self.predictions: dict[int, Prediction] = {}
        self.readings: dict[int, tuple[int, int]] = {}
        self.attention_quality = AttentionQuality()
        self.look_quality: dict[str, AttentionQuality] = {}
        """Of each layer and head, where there are several."""
        self._laid_out: LaidOut | None = None
        """The network laid out for the searches of the present validation or test."""

    def configure_optimizers(self) -> OptimizerLRScheduler:
        total = self.trainer.estimated_stepping_batches
        if total == math.inf:
            raise InputError(
                f"trainer.max_epochs={self.trainer.max_epochs}: expected an end of the training, in max_epochs or "
                "max_steps, because schedules depend on it"
            )
        with config_errors("optimizer"):
            optimizer = self.optimizer(self.model.parameters())
        with config_errors("scheduler"):
            schedule = self.schedule(optimizer, int(total))
        return {"optimizer": optimizer, "lr_scheduler": schedule}  # type: ignore[return-value]

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["config"] = self.config
        checkpoint["text"] = data_of(self.trainer).fingerprints
        # of the tokens of all ranks since the last logged point
        checkpoint["train_loss"] = self.train_loss.sums()
        checkpoint["train_coverage_loss"] = self.train_coverage_loss.sums()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        # checkpoints of earlier versions do not have it
        for name, mean in (("train_loss", self.train_loss), ("train_coverage_loss", self.train_coverage_loss)):
            if name in checkpoint and self.global_rank == 0:
                mean.update(*checkpoint[name])

    def on_train_batch_start(self, batch: Batch, batch_index: int) -> None:
        # dropout depends only on the seed, the batch's number and the rank, so that a resumed run gives the same
        # numbers; seeds are below 2**32, so that no two ranks share one
        torch.manual_seed(
            self.config["seed"] * 1_000_003 + self.trainer.fit_loop.total_batch_idx + (self.global_rank << 53)
        )

    def training_step(self, batch: Batch, batch_index: int) -> dict[str, Any]:
        """``loss``, which is minimised; ``nll``, the batch's nats without smoothing; ``tokens``, its target tokens.

        Several ranks share a batch. DDP takes the mean of their gradients, and here the mean is over the tokens (or the
        sentences) of the whole batch. So a rank's loss is its own sum over all tokens, times the number of ranks.
        """
        self._batch = batch
        if not len(batch):  # fewer sentences than ranks: this rank takes part, and adds nothing to the gradient
            self._end_curve_point()
            nothing = torch.stack([weight.sum() for weight in self.model.parameters()]).sum() * 0.0
            return {"loss": nothing, "nll": nothing.detach(), "tokens": 0}
        with memory_explained(batch, is_training=True):
            result = self.model(
                *(batch.source, batch.source_length, batch.target),
                *(self.label_smoothing, batch.target_tokens, self.coverage, self._own_words()),
            )
        # on an accelerator to look waits for it, so only where it is waited for anyway
        if (self.device.type == "cpu" or is_logged(self.trainer)) and not result.loss.isfinite():
            raise diverged(
                self.model, batch, f"the loss is {float(result.loss.detach())}", self.trainer.global_step + 1
            )
        self.train_loss.update(result.nll.detach(), result.tokens)
        self.train_coverage_loss.update(result.coverage, result.tokens)
        # not later: callbacks save checkpoints before ``on_train_batch_end``, and the tokens of a finished point must
        # not be in them
        self._end_curve_point()
        whole = batch.whole.target_tokens if self.normalize == "tokens" else batch.whole.sentences
        loss = result.loss * self.ranks / whole
        return {"loss": loss, "nll": result.nll, "tokens": result.tokens}

    def backward(self, loss: Tensor, *arguments: Any, **options: Any) -> None:  # Lightning's signature
        assert self._batch is not None
        with memory_explained(self._batch, is_training=True):
            super().backward(loss, *arguments, **options)

    @property
    def ranks(self) -> int:
        """How many processes train together."""
        return 1 if self._trainer is None else self._trainer.world_size

    def _end_curve_point(self) -> None:
        """Ends a point of the training curve if this batch ends an update that is logged."""
        batches = self.trainer.fit_loop.batch_idx + 1
        steps = batches % self.trainer.accumulate_grad_batches == 0 or self.trainer.is_last_batch
        if steps and is_logged(self.trainer):
            self._curve_point = {"train/loss": self.train_loss.compute()}
            if self.coverage:
                self._curve_point["train/coverage_loss"] = self.train_coverage_loss.compute()
            self.train_loss.reset()
            self.train_coverage_loss.reset()

    def _loss(self, batch: Batch) -> TokenLoss:
        return self.model(batch.source, batch.source_length, batch.target, tokens=batch.target_tokens)

    def _own_words(self) -> float:
        """The share of own words of this update."""
        if not self.scheduled_sampling:
            return 0.0
        return self.scheduled_sampling * self.trainer.global_step / self.trainer.estimated_stepping_batches

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_index: int) -> None:
        if not self._curve_point:  # Lightning also logs the last update, and only now knows that it was the last
            self._end_curve_point()
        for name, mean in self._curve_point.items():
            self.log(name, mean, on_step=True, on_epoch=False)
        self._curve_point = {}

    def configure_gradient_clipping(
        self,
        optimizer: Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        if is_logged(self.trainer):
            gradients = [weight.grad for weight in self.model.parameters() if weight.grad is not None]
            norm = torch.nn.utils.get_total_norm(gradients)
            if not norm.isfinite():
                assert self._batch is not None
                what = f"the norm of the gradients is {float(norm)}"
                raise diverged(self.model, self._batch, what, self.trainer.global_step + 1)
            self.log("train/gradient_norm", norm, on_step=True, on_epoch=False)
            # a tensor on the host, because Lightning would copy a number to the device and wait for the copy
            rate = torch.tensor(float(optimizer.param_groups[0]["lr"]))
            self.log("train/learning_rate", rate, on_step=True, on_epoch=False)
        plugin = self.trainer.precision_plugin
        if plugin.precision == "bf16-mixed" and gradient_clip_val:
            # Lightning does not clip for a fused optimizer in mixed precision, because float16 scales the gradients.
            # bfloat16 does not scale them, so clipping is safe.
            algorithm = GradClipAlgorithmType(gradient_clip_algorithm or "norm")
            Precision.clip_gradients(plugin, optimizer, gradient_clip_val, algorithm)
        else:
            self.clip_gradients(optimizer, gradient_clip_val, gradient_clip_algorithm)

    def on_validation_epoch_start(self) -> None:
        with torch.autocast(self.device.type, enabled=False):
            self._laid_out = self.model.laid_out()

    def validation_step(self, batch: Batch, batch_index: int) -> None:
        if not len(batch):  # fewer sentences than ranks
            return
        # in float32, as the test: the best checkpoint is chosen by the numbers that a test of it would give
        with torch.autocast(self.device.type, enabled=False), memory_explained(batch, is_training=False):
            self._validate(batch)

    def _validate(self, batch: Batch) -> None:
        result = self._loss(batch)
        self.validation_loss.update(result.nll, result.tokens)
        sample = batch.ids < self.validation_sentences
        if sample.any():
            assert self._laid_out is not None
            found = self.validation_search(self._laid_out, batch.source[sample], batch.source_length[sample])
            texts = data_of(self.trainer).texts("validation")
            references = [texts[int(i)]["target"] for i in batch.ids[sample]]
            self.validation_bleu.update([self.target_tokenizer.decode(best[0].tokens) for best in found], references)

    def on_validation_epoch_end(self) -> None:
        loss = self.validation_loss.compute()
        if not loss.isfinite():
            raise InputError(
                f"training diverged: the validation loss is {float(loss)} at update {self.trainer.global_step:,}; "
                "expected a smaller optimizer.lr, or trainer.gradient_clip_val=1.0"
            )
        metrics = {
            "validation/loss": loss,
            "validation/perplexity": loss.exp(),
            "validation/bleu": self.validation_bleu.compute(),
        }
        for name, value in metrics.items():
            self.log(name, value, prog_bar=name != "validation/loss")
        if not self.trainer.sanity_checking:
            for config in self.trainer.lr_scheduler_configs:
                if isinstance(config.scheduler, ReduceLROnPlateau):
                    # Lightning would do it at the end of the epoch, but then the checkpoint is already written
                    config.scheduler.step(metrics[str(config.monitor)])
        self.validation_loss.reset()
        self.validation_bleu.reset()
        self._laid_out = None  # the weights change as training continues

    def on_test_epoch_start(self) -> None:
        self.predictions, self.readings = {}, {}
        self.attention_quality = AttentionQuality()
        self.look_quality = {name: AttentionQuality() for name in self.model.look_names}
        self.test_loss.reset()
        self._laid_out = self.model.laid_out()

    def test_step(self, batch: Batch, batch_index: int) -> None:
        with memory_explained(batch, is_training=False):
            self._test(batch)

    def _test(self, batch: Batch) -> None:
        result = self._loss(batch)
        self.test_loss.update(result.nll, result.tokens)
        texts = data_of(self.trainer).texts("test")
        rows = [texts[i] for i in batch.ids.tolist()]
        assert self._laid_out is not None
        found = self.search(self._laid_out, batch.source, batch.source_length)
        for i, row, (best, *_) in zip(batch.ids.tolist(), rows, found, strict=True):
            # by id, so that a sentence that a sampler gave twice is counted once
            self.predictions[i] = Prediction(
                id=i,
                source=row["source"],
                reference=row["target"],
                hypothesis=self.writer.text(row["source"], best),
                score=best.score,
                source_length=len(words(row["source"])),
                truncated=best.truncated,
            )
            self.readings[i] = self.writer.reading(row["source"], best) if self.model.looks_back else (0, 0)
        if self.model.looks_back:
            for i, row, weights in zip(batch.ids.tolist(), rows, self.word_weights(batch, rows), strict=True):
                self.attention_quality.add(i, len(words(row["source"])), weights, gold_of(row, weights.shape))
            if "alignment" in texts.column_names:
                for name, looks in self.word_weights.by_look(batch, rows).items():
                    for i, row, weights in zip(batch.ids.tolist(), rows, looks, strict=True):
                        gold = gold_of(row, weights.shape)
                        self.look_quality[name].add(i, len(words(row["source"])), weights, gold)


def is_logged(trainer: lightning.Trainer) -> bool:
    """Whether the loggers write what is logged at the end of this batch. Lightning's own callbacks ask it this way.

    A value that no logger writes is better not logged: that would take longer than all else Lightning does in a step.
    """
    return trainer._logger_connector.should_update_logs


def data_of(trainer: lightning.Trainer) -> TranslationData:
    """The data module of a trainer. Lightning sets the attribute but does not declare it."""
    return trainer.datamodule  # type: ignore[attr-defined]
