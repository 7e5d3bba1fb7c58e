"""One report over any runs: `python compare.py runs='[outputs/a, outputs/b]'`, or a whole sweep: `runs=multirun/…`."""

import hydra
from omegaconf import DictConfig

from lookback.commands.launch import launch, plain_errors


@hydra.main(version_base="1.3", config_path="conf", config_name="compare")
def main(config: DictConfig) -> None:
    with plain_errors():
        from lookback.report import compare, comparison_directory
        from lookback.runs import read_runs

        entries = [config.runs] if isinstance(config.runs, str) else list(config.runs)
        out = config.out or comparison_directory(entries)
        compare(read_runs(entries), out, baseline=config.baseline)


if __name__ == "__main__":
    launch(main)
