"""Align the words of translations with a trained run: python align.py run=DIR source=FILE target=FILE > links.txt."""

import hydra
from omegaconf import DictConfig

from lookback.commands.launch import launch, plain_errors


@hydra.main(version_base="1.3", config_path="conf", config_name="align")
def main(config: DictConfig) -> None:
    from lookback.commands.align import align

    with plain_errors():
        align(config)


if __name__ == "__main__":
    launch(main)
