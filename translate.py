"""Translate lines with a trained run: python translate.py run=DIR < input.txt > output.txt."""

import hydra
from omegaconf import DictConfig

from lookback.commands.launch import launch, plain_errors


@hydra.main(version_base="1.3", config_path="conf", config_name="translate")
def main(config: DictConfig) -> None:
    from lookback.commands.translate import translate

    with plain_errors():
        translate(config)


if __name__ == "__main__":
    launch(main)
