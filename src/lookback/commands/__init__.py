"""One file a command, and how commands start, fail and sweep."""

import warnings

from omegaconf import OmegaConf

from lookback.commands.job_hash import job_hash

# both here, because a launcher's worker process imports this package before it composes a job
OmegaConf.register_new_resolver("job_hash", job_hash, replace=True)
# conf/hydra/launcher has files with the names of the launchers' own configs. Hydra 1.3 checks such a file against the
# launcher's, which is welcome, and warns that a later Hydra will take the file alone, which is as good.
warnings.filterwarnings("ignore", message=r"\s*'hydra/launcher/\w+' is validated against ConfigStore schema")
