"""`python -m lookback`: the program `lookback`."""

from lookback.commands.main import main

if __name__ == "__main__":
    main()
