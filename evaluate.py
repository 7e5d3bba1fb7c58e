"""Score a trained run: python evaluate.py run=DIR."""

from lookback.commands.launch import launch

if __name__ == "__main__":
    launch("evaluate")
