"""Train and test a translator: python train.py attention=bahdanau. A sweep: python train.py -m attention=none,dot."""

from lookback.commands.launch import launch

if __name__ == "__main__":
    launch("train")
