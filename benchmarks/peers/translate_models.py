"""Trains the three models that translate_file.py times, each by its own command, and writes the peers' configs.

    python benchmarks/peers/translate_models.py FOLDER train.en train.fr dev.en dev.fr \
        --joeynmt PYTHON --opennmt PYTHON [--systems lookback] [--updates 300]

The texts are plain, words parted by spaces; the first 50,000 pairs are taken. All have a bidirectional GRU of 256
units, additive attention of 256, a GRU decoder of 256, embeddings of 256, 8,000 words of each side and batches of 64
sentences: a few hundred updates are enough for translations of natural lengths. OpenNMT-py's two directions share the
256. They end as FOLDER/lookback (a run directory), FOLDER/joeynmt (a model directory with greedy.yaml and beam5.yaml)
and FOLDER/opennmt (model_step_N.pt). TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1 lets the peers read their own checkpoints with
a newer torch.
"""

import argparse
import json
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).parents[2]
SYSTEMS = ("lookback", "joeynmt", "opennmt")
PAIRS, LONGEST = 50_000, 60
WORDS, UNITS, BATCH, RATE = 8_000, 256, 64, 0.002
SPECIAL = 4
"""Tokens that JoeyNMT adds to its vocabulary."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("texts", type=Path, nargs=4, metavar="TEXT", help="of training and validation, two sides each")
    parser.add_argument("--joeynmt", metavar="PYTHON", help="of an environment that has it")
    parser.add_argument("--opennmt", metavar="PYTHON", help="of an environment that has it")
    parser.add_argument("--systems", choices=SYSTEMS, nargs="+", default=SYSTEMS)
    parser.add_argument("--updates", type=int, default=300)
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for path, name in zip(arguments.texts, ("train.src", "train.trg", "dev.src", "dev.trg"), strict=True):
        _top(path, folder / name)
    if "lookback" in arguments.systems:
        _lookback(folder, arguments.updates)
    if "joeynmt" in arguments.systems and arguments.joeynmt:
        _joeynmt(folder, arguments.joeynmt, arguments.updates)
    if "opennmt" in arguments.systems and arguments.opennmt:
        _opennmt(folder, Path(arguments.opennmt).parent, arguments.updates)


def _top(path: Path, to: Path) -> None:
    if not to.exists():
        with path.open("rb") as read, to.open("wb") as write:
            write.writelines(islice(read, PAIRS))


def _run(command: list[str]) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}
    subprocess.run(command, check=True, env=environment)


def _lookback(folder: Path, updates: int) -> None:
    texts = {"train": "train", "validation": "dev", "test": "dev"}
    sides = {"source": "src", "target": "trg"}
    data = [f"data.{split}.{side}={folder}/{texts[split]}.{sides[side]}" for split in texts for side in sides]
    parts = ("encoder.embedding_size", "encoder.hidden_size", "decoder.embedding_size", "decoder.hidden_size")
    sizes = [f"{part}={UNITS}" for part in (*parts, "decoder.readout_size")]
    length = [f"trainer.max_steps={updates}", f"trainer.val_check_interval={updates}", "trainer.max_epochs=1"]
    rest = ["data=text", "data.bleu_tokenize=none", f"data.train_max_length={LONGEST}", "attention=bahdanau"]
    rest += ["decoder.readout=attentional", f"tokenizer.vocabulary_size={WORDS}", f"batch.size={BATCH}", "logger=csv"]
    rest += [f"learning_rate={RATE}", "scheduler=constant"]  # as the peers do
    run = f"hydra.run.dir={folder / 'lookback'}"
    _run([sys.executable, str(ROOT / "train.py"), *data, *sizes, *length, *rest, run])


def _joeynmt(folder: Path, python: str, updates: int) -> None:
    models = folder / "joeynmt"

    def side(language: str) -> dict[str, object]:
        words = {"level": "word", "lowercase": False, "voc_limit": WORDS - SPECIAL, "voc_min_freq": 1}
        return {"lang": language, "max_length": LONGEST, **words}

    embeddings = {"embedding_dim": UNITS, "scale": False}
    recurrent = {"type": "recurrent", "rnn_type": "gru", "num_layers": 1, "dropout": 0.0, "hidden_size": UNITS}
    recurrent["embeddings"] = embeddings
    config = {
        "name": "translate_file",
        "joeynmt_version": "2.3.0",
        "model_dir": str(models),
        "use_cuda": False,
        "data": {
            "train": f"{folder}/train",
            "dev": f"{folder}/dev",
            "dataset_type": "plain",
            "src": side("src"),
            "trg": side("trg"),
        },
        "model": {
            "initializer": "xavier_uniform",
            "encoder": {**recurrent, "bidirectional": True},
            "decoder": {
                **recurrent,
                "hidden_dropout": 0.0,
                "attention": "bahdanau",
                "input_feeding": True,
                "init_hidden": "bridge",
            },
        },
        "training": {
            "batch_size": BATCH,
            "batch_type": "sentence",
            "overwrite": True,
            "optimizer": "adam",
            "learning_rate": RATE,
            "scheduling": "exponential",
            "decrease_factor": 1.0,  # a constant rate
            "clip_grad_norm": 1.0,
            "updates": updates,
            "epochs": 1,
            "validation_freq": updates,
            "logging_freq": updates,
        },
        "testing": {"batch_size": 64, "batch_type": "sentence", "beam_size": 1},
    }
    (folder / "joeynmt.yaml").write_text(json.dumps(config, indent=2))  # JSON is YAML
    _run([python, "-m", "joeynmt", "train", str(folder / "joeynmt.yaml"), "--skip-test"])
    for name, testing in {"greedy": {"beam_size": 1}, "beam5": {"beam_size": 5, "beam_alpha": 1.0}}.items():
        config["testing"] = {"batch_size": 64, "batch_type": "sentence", **testing}
        # translations of any length: what is too long for training is not left out
        config["data"]["src"] = {**side("src"), "max_length": -1}
        (models / f"{name}.yaml").write_text(json.dumps(config, indent=2))


def _opennmt(folder: Path, programs: Path, updates: int) -> None:
    models = folder / "opennmt"
    models.mkdir(exist_ok=True)

    def corpus(name: str) -> dict[str, object]:
        return {"path_src": f"{folder}/{name}.src", "path_tgt": f"{folder}/{name}.trg", "transforms": ["filtertoolong"]}

    config = {
        "data": {"corpus": {**corpus("train"), "weight": 1}, "valid": corpus("dev")},
        "src_seq_length": LONGEST,
        "tgt_seq_length": 2 * LONGEST,
        "src_vocab": f"{models}/vocabulary.src",
        "tgt_vocab": f"{models}/vocabulary.trg",
        "src_vocab_size": WORDS,
        "tgt_vocab_size": WORDS,
        "save_data": f"{models}/data",
        "overwrite": True,
    }
    network = {
        "encoder_type": "brnn",
        "decoder_type": "rnn",
        "rnn_type": "GRU",
        "layers": 1,
        "hidden_size": UNITS,
        "word_vec_size": UNITS,
        "global_attention": "mlp",
        "input_feed": 1,
        "dropout": [0.0],
    }
    training = {
        "optim": "adam",
        "learning_rate": RATE,
        "max_grad_norm": 1.0,
        "param_init": 0,
        "param_init_glorot": True,
        "batch_size": BATCH,
        "batch_type": "sents",
        "num_workers": 0,
        "train_steps": updates,
        "valid_steps": updates,
        "save_checkpoint_steps": updates,
        "save_model": f"{models}/model",
    }
    (models / "vocabulary.yaml").write_text(json.dumps(config, indent=2))
    (models / "train.yaml").write_text(json.dumps({**config, **network, **training}, indent=2))
    _run([str(programs / "onmt_build_vocab"), "-config", str(models / "vocabulary.yaml"), "-n_sample", "-1"])
    _run([str(programs / "onmt_train"), "-config", str(models / "train.yaml")])


if __name__ == "__main__":
    main()
