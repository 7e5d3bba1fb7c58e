"""Score a trained run: python evaluate.py run=DIR."""

import hydra
from omegaconf import DictConfig

from lookback.commands.launch import launch, plain_errors


@hydra.main(version_base="1.3", config_path="conf", config_name="evaluate")
def main(config: DictConfig) -> None:
    from lookback.commands.evaluate import evaluate

    with plain_errors():
        evaluate(config)


if __name__ == "__main__":
    launch(main)
