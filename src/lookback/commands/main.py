"""The program ``lookback``, such as ``lookback train attention=bahdanau``, which has all commands."""

import sys


def main() -> None:
    """Runs the command that is the first argument, with the other arguments."""
    from lookback import __version__
    from lookback.commands.launch import COMMANDS, launch
    from lookback.common.own_directory import own_directory
    from lookback.common.suggestions import one_of

    name = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if name in ("--help", "-h", "help"):
        print("lookback COMMAND key=value …    (lookback COMMAND --help: its settings)\n")
        print("\n".join(f"  {known:10} {said}" for known, (_, _, said) in COMMANDS.items()))
    elif name == "--version":
        print(__version__)
    elif name in COMMANDS:
        sys.argv = [f"lookback {name}", *sys.argv[2:]]
        if (own := own_directory()) is not None:
            sys.path.append(str(own))  # for classes of the user that their own configs name
        launch(name)
    else:
        print(f"error: lookback {name}: no such command; expected {one_of(COMMANDS, name)}", file=sys.stderr)
        sys.exit(2)
