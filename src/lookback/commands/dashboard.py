"""Makes the workspace of a W&B project, with the length chart that its panels draw."""

from typing import Annotated, TypedDict

from annotated_types import MinLen
from omegaconf import DictConfig

from lookback.common.checks import Text
from lookback.common.schema import check_config
from lookback.tracking.custom_chart import length_curve_spec
from lookback.tracking.dashboard import print_workspace, save_workspace
from lookback.tracking.weights_and_biases import has_key


class DashboardSettings(TypedDict):
    """The keys of ``conf/dashboard.yaml``."""

    project: Text
    entity: Text | None
    name: Text
    attentions: Text | Annotated[list[Text], MinLen(1)]


def dashboard(config: DictConfig) -> None:
    """Saves the workspace if a W&B key is configured. Otherwise prints it as JSON and sends nothing.

    Args:
        config: as ``conf/dashboard.yaml`` composes it.

    Raises:
        InputError: if wandb-workspaces is not installed, or if W&B refuses.
    """
    check_config(config, DashboardSettings)
    attentions = [config.attentions] if isinstance(config.attentions, str) else list(config.attentions)
    show = save_workspace if has_key() else print_workspace
    show(config.project, config.entity, config.name, length_curve_spec(attentions))
