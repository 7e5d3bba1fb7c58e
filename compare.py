"""One report over any runs: python compare.py runs='[outputs/a, outputs/b]', or a whole sweep: runs=multirun/…."""

from lookback.commands.launch import launch

if __name__ == "__main__":
    launch("compare")
