import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "statement", ["from lookback.nn import AdditiveAttention", "from lookback.search import BeamSearch"]
)
def test_the_model_and_the_search_come_without_hydra_and_lightning(statement: str):
    heavy = ("hydra", "omegaconf", "lightning", "pytorch_lightning", "datasets", "wandb", "sacrebleu", "altair")
    code = f"{statement}; import sys; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
