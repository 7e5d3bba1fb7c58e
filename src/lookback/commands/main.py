"""The program `lookback`: `lookback train attention=bahdanau`, the same commands as the scripts of a working copy."""

import os
import sys


def main() -> None:
    """Run the command that is typed first, with the rest as its own."""
    from lookback import __version__
    from lookback.commands.launch import COMMANDS, launch
    from lookback.common.suggestions import one_of

    name = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if name in ("--help", "-h", "help"):
        print("lookback COMMAND key=value …    (lookback COMMAND --help: its settings)\n")
        print("\n".join(f"  {known:10} {said}" for known, (_, _, said) in COMMANDS.items()))
    elif name == "--version":
        print(__version__)
    elif name in COMMANDS:
        sys.argv = [f"lookback {name}", *sys.argv[2:]]
        sys.path.append(os.getcwd())  # a class of the user's own, which a config of theirs names, lies there
        launch(name)
    else:
        print(f"error: lookback {name}: no such command; expected {one_of(COMMANDS, name)}", file=sys.stderr)
        sys.exit(2)
