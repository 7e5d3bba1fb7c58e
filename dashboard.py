"""The W&B project's workspace: python dashboard.py project=lookback. Without a key it is only printed."""

import hydra
from omegaconf import DictConfig

from lookback.commands.launch import launch, plain_errors


@hydra.main(version_base="1.3", config_path="conf", config_name="dashboard")
def main(config: DictConfig) -> None:
    with plain_errors():
        from lookback.tracking.dashboard import dashboard

        dashboard(config)


if __name__ == "__main__":
    launch(main)
