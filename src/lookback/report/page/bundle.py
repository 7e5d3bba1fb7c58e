"""Vega, Vega-Lite and vega-embed in one script, which vl-convert brings along: nothing is fetched."""

import os
from functools import cache
from importlib.metadata import version
from pathlib import Path

import vl_convert

from lookback.common.files import atomic_write


@cache
def vega_bundle() -> str:
    """The script that defines `vegaEmbed` and `vega`, 0.9 MB.

    vl-convert takes about four seconds to make it, so it is kept in the user's cache, a file for each version.
    """
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    path = root / "lookback" / f"vega-embed-{version('vl-convert-python')}.js"
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        script = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its stub lacks the default
    try:
        with atomic_write(path) as file:
            file.write(script.encode())
    except OSError:  # it works without the cache, only slower
        pass
    return script
