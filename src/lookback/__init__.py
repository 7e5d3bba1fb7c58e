"""What attention buys a translator, and from which sentence length on.

    import lookback
    model = lookback.load("outputs/…")
    found = model.translate(["he returned to the village ."])
    lookback.compare({"mine": "mine.fr", "theirs": "theirs.fr"}, source="test.en", reference="test.fr")

Names are imported when first asked for: `import lookback` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lookback.report.outputs import compare_systems as compare
    from lookback.translation import Translation, Translator, load
    from lookback.translation.doctor import doctor

__version__ = "0.1.0"

_NAMES = {
    "Translation": ("translation", "Translation"),
    "Translator": ("translation", "Translator"),
    "compare": ("report.outputs", "compare_systems"),
    "doctor": ("translation.doctor", "doctor"),
    "load": ("translation", "load"),
}

__all__ = ["Translation", "Translator", "__version__", "compare", "doctor", "load"]


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, real = _NAMES[name]
    return getattr(import_module(f"{__name__}.{module}"), real)


def __dir__() -> list[str]:
    return sorted(__all__)
