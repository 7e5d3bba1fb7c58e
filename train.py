"""Train and test a translator: python train.py attention=bahdanau. A sweep: python train.py -m attention=none,dot."""

import hydra
from omegaconf import DictConfig

from lookback.commands.launch import launch, plain_errors


@hydra.main(version_base="1.3", config_path="conf", config_name="train")
def main(config: DictConfig) -> None:
    from lookback.commands.train import run_job

    with plain_errors():
        run_job(config)


if __name__ == "__main__":
    launch(main)
