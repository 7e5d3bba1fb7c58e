"""One file a command, and how commands start, fail and sweep."""

from omegaconf import OmegaConf

from lookback.commands.jobs import job_hash

# here, because a launcher's worker process imports this package before it asks for the directory of a job
OmegaConf.register_new_resolver("job_hash", job_hash, replace=True)
