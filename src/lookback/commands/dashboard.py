"""Makes the workspace of a W&B project, with the length chart that its panels draw."""

from omegaconf import DictConfig

from lookback.tracking.custom_chart import length_curve_spec
from lookback.tracking.dashboard import print_workspace, save_workspace
from lookback.tracking.weights_and_biases import has_key


def dashboard(config: DictConfig) -> None:
    """Saves the workspace if a W&B key is configured. Otherwise prints it as JSON and sends nothing.

    Args:
        config: as ``conf/dashboard.yaml`` composes it.

    Raises:
        InputError: if wandb-workspaces is not installed, or if W&B refuses.
    """
    attentions = [config.attentions] if isinstance(config.attentions, str) else list(config.attentions)
    show = save_workspace if has_key() else print_workspace
    show(config.project, config.entity, config.name, length_curve_spec(attentions))
