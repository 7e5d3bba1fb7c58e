"""The network as Lightning trains, validates and tests it."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import lightning
import torch
from lightning.pytorch.plugins.precision import Precision
from lightning.pytorch.utilities.enums import GradClipAlgorithmType
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import ReduceLROnPlateau

from lookback.common.errors import InputError, config_errors
from lookback.common.words import words
from lookback.data import Batch, Tokenizer, TranslationData
from lookback.evaluation.alignment.attention_quality import AttentionQuality, gold_of
from lookback.nn import LaidOut, Seq2Seq, TokenLoss
from lookback.runs import Prediction
from lookback.search import GreedySearch, Search
from lookback.training.metrics import CorpusBleu, TokenMean
from lookback.translation.word_weights import WordWeights
from lookback.translation.writing import Writer

NORMALIZATIONS = ("tokens", "sentences")
"""What the training loss is a mean over."""


class TranslationModule(lightning.LightningModule):
    """Trains a ``Seq2Seq`` on token cross-entropy, validates by perplexity and by BLEU of a fixed sample, and tests.

    optimizer: gives an optimizer of the parameters.
    schedule: gives a learning-rate schedule of the optimizer and the total number of updates, as
        ``lookback.training.schedules`` do.
    search: what decodes the test set; validation decodes greedily, the first ``validation_sentences`` pairs.
    dictionary: for unknown words of the test set's translations, as ``Writer`` has it; validation keeps them.
    bleu_tokenize: sacrebleu's tokenizer for this corpus.
    label_smoothing: ε of the training loss; perplexity is always of the unsmoothed one.
    normalize: what a batch's training loss is a mean over: its target ``tokens``, or its ``sentences``, each the sum
        over its tokens, as in the papers (Cho et al. 2014, eq. 4; Luong et al. 2015, eq. 4). Batches hold sentences of
        about one length: a mean over tokens gives a token of a short sentence the weight of several of a long one.
        With ``trainer.accumulate_grad_batches`` the loss is the mean of the batches' own. What is logged is always a
        mean over tokens.
    config: the whole resolved configuration, plain containers; it travels in every checkpoint, under ``config``.

    Logs train/loss (nats a target token, unsmoothed, the mean over all tokens since it was last logged),
    train/learning_rate and train/gradient_norm (of one update, before clipping), validation/loss (nats a target token),
    validation/perplexity and validation/bleu.
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
        validation_sentences: int,
        label_smoothing: float,
        normalize: str,
        config: dict[str, Any],
    ) -> None:
        super().__init__()
        if not 0 <= label_smoothing < 1:
            raise ValueError(f"label_smoothing={label_smoothing}: expected 0 up to 1")
        if normalize not in NORMALIZATIONS:
            raise ValueError(f"loss.normalize={normalize}: expected one of {', '.join(NORMALIZATIONS)}")
        if validation_sentences < 1:
            raise ValueError(f"validation_sentences={validation_sentences}: expected 1 or more")
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
        self.config = config
        self.validation_search = GreedySearch(search.rule.limit_factor, search.rule.limit_extra)
        self.train_loss = TokenMean()
        self._point: Tensor | None = None
        self.validation_loss = TokenMean()
        self.validation_bleu = CorpusBleu(bleu_tokenize)
        self.test_loss = TokenMean()
        self.predictions: dict[int, Prediction] = {}
        self.attention_quality = AttentionQuality()
        self._laid_out: LaidOut | None = None
        """The network as searches of this validation or test run it"""

    def configure_optimizers(self) -> OptimizerLRScheduler:
        total = self.trainer.estimated_stepping_batches
        if total == math.inf:
            raise InputError("trainer: no end is set, and schedules depend on it; expected max_epochs or max_steps")
        with config_errors("optimizer"):
            optimizer = self.optimizer(self.model.parameters())
        with config_errors("scheduler"):
            schedule = self.schedule(optimizer, int(total))
        return {"optimizer": optimizer, "lr_scheduler": schedule}  # type: ignore[return-value]

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["config"] = self.config
        checkpoint["train_loss"] = self.train_loss.sums()  # of a point that is not full yet

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        if "train_loss" in checkpoint:  # not in those of earlier versions
            self.train_loss.update(*checkpoint["train_loss"])

    def on_train_batch_start(self, batch: Batch, batch_index: int) -> None:
        # dropout depends on the seed and the batch's number alone, so that a resumed run repeats an uninterrupted one
        torch.manual_seed(self.config["seed"] * 1_000_003 + self.trainer.fit_loop.total_batch_idx)

    def training_step(self, batch: Batch, batch_index: int) -> dict[str, Any]:
        """``loss``, what the optimizer gets; ``nll``, the batch's unsmoothed nats; ``tokens``: of how many words."""
        result = self._loss(batch, self.label_smoothing)
        self.train_loss.update(result.nll.detach(), result.tokens)
        self._close_point()  # here: callbacks save checkpoints before `on_train_batch_end`, without the point's tokens
        loss = result.loss / (result.tokens if self.normalize == "tokens" else len(batch))
        return {"loss": loss, "nll": result.nll, "tokens": result.tokens}

    def _close_point(self) -> None:
        """Close a point of the training curve where this batch ends an update that is logged."""
        batches = self.trainer.fit_loop.batch_idx + 1
        steps = batches % self.trainer.accumulate_grad_batches == 0 or self.trainer.is_last_batch
        if steps and is_logged(self.trainer):
            self._point = self.train_loss.compute()
            self.train_loss.reset()

    def _loss(self, batch: Batch, smoothing: float = 0.0) -> TokenLoss:
        return self.model(batch.source, batch.source_length, batch.target, smoothing, batch.target_tokens)

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_index: int) -> None:
        if self._point is None:  # Lightning logs the last update, too, and knows by now that it was
            self._close_point()
        if self._point is not None:
            self.log("train/loss", self._point, on_step=True, on_epoch=False)
            self._point = None

    def configure_gradient_clipping(
        self,
        optimizer: Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        if is_logged(self.trainer):
            gradients = [weight.grad for weight in self.model.parameters() if weight.grad is not None]
            self.log("train/gradient_norm", torch.nn.utils.get_total_norm(gradients), on_step=True, on_epoch=False)
            # a tensor on the host: Lightning would put a number on the device, and wait until it is there
            rate = torch.tensor(float(optimizer.param_groups[0]["lr"]))
            self.log("train/learning_rate", rate, on_step=True, on_epoch=False)
        plugin = self.trainer.precision_plugin
        if plugin.precision == "bf16-mixed" and gradient_clip_val:
            # Lightning refuses to clip for a fused optimizer in mixed precision, but only float16 scales its gradients
            algorithm = GradClipAlgorithmType(gradient_clip_algorithm or "norm")
            Precision.clip_gradients(plugin, optimizer, gradient_clip_val, algorithm)
        else:
            self.clip_gradients(optimizer, gradient_clip_val, gradient_clip_algorithm)

    def on_validation_epoch_start(self) -> None:
        with torch.autocast(self.device.type, enabled=False):
            self._laid_out = self.model.laid_out()

    def validation_step(self, batch: Batch, batch_index: int) -> None:
        # mixed precision is training's: a checkpoint is chosen by what a test of it would give
        with torch.autocast(self.device.type, enabled=False):
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
                    # here: at the end of the epoch, where Lightning would do it, the checkpoint is written already
                    config.scheduler.step(metrics[str(config.monitor)])
        self.validation_loss.reset()
        self.validation_bleu.reset()
        self._laid_out = None  # training goes on with other weights

    def on_test_epoch_start(self) -> None:
        self.predictions = {}
        self.attention_quality = AttentionQuality()
        self.test_loss.reset()
        self._laid_out = self.model.laid_out()

    def test_step(self, batch: Batch, batch_index: int) -> None:
        result = self._loss(batch)
        self.test_loss.update(result.nll, result.tokens)
        texts = data_of(self.trainer).texts("test")
        rows = [texts[i] for i in batch.ids.tolist()]
        assert self._laid_out is not None
        found = self.search(self._laid_out, batch.source, batch.source_length)
        for i, row, (best, *_) in zip(batch.ids.tolist(), rows, found, strict=True):
            # by id: a sentence that a sampler served twice is counted once
            self.predictions[i] = Prediction(
                id=i,
                source=row["source"],
                reference=row["target"],
                hypothesis=self.writer.text(row["source"], best),
                score=best.score,
                source_length=len(words(row["source"])),
                truncated=best.truncated,
            )
        if self.model.looks_back:
            for i, row, weights in zip(batch.ids.tolist(), rows, self.word_weights(batch, rows), strict=True):
                self.attention_quality.add(i, len(words(row["source"])), weights, gold_of(row, weights.shape))


def is_logged(trainer: lightning.Trainer) -> bool:
    """Whether the loggers get what is logged at the end of this batch; Lightning's own callbacks ask it like this.

    To log what is not written would cost more than the rest of what Lightning does in a step.
    """
    return trainer._logger_connector.should_update_logs


def data_of(trainer: lightning.Trainer) -> TranslationData:
    """The data that a trainer was given, which Lightning does not declare."""
    return trainer.datamodule  # type: ignore[attr-defined]
