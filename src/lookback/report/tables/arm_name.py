"""An arm's name in a table: `location_sensitive, learning_rate=0.004` is broken where a reader would break it."""

import re
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

_PART = re.compile(r"(?<=[_=,])(?! )|(?<=[a-z]\.)|(?<= )")


@dataclass(frozen=True)
class ArmName:
    """A cell that is broken behind an underscore, an equals sign, a comma, a key's dot or a space; elsewhere only where
    one part is wider than the column."""

    name: str

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        widths = [len(part.rstrip()) for part in _PART.split(self.name)]
        return Measurement(max(widths), len(self.name)).with_maximum(options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = [""]
        for part in _PART.split(self.name):
            if lines[-1] and len((lines[-1] + part).rstrip()) > options.max_width:
                lines.append("")
            lines[-1] += part
        yield Text("\n".join(line.rstrip() for line in lines), overflow="fold")
