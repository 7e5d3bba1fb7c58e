"""Translate lines with a trained run: python translate.py run=DIR < input.txt > output.txt."""

from lookback.commands.launch import launch

if __name__ == "__main__":
    launch("translate")
