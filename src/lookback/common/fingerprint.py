"""A hash of parallel text: equal for equal text, wherever it was read from."""

import hashlib
from collections.abc import Iterable


def text_fingerprint(sides: Iterable[Iterable[str]]) -> str:
    """The hash of the texts of each side, one side after the other."""
    digest = hashlib.sha256()
    for texts in sides:
        for text in texts:
            data = text.encode()
            # the length comes first: otherwise words could move from one sentence to the next unnoticed
            digest.update(len(data).to_bytes(8, "little"))
            digest.update(data)
    return digest.hexdigest()
