"""`python -m lookback`: the program `lookback`."""

from lookback.common.own_directory import leave_out_strangers

if __name__ == "__main__":
    leave_out_strangers()  # before any other import: Python looks for modules in the current directory first
    from lookback.commands.main import main

    main()
