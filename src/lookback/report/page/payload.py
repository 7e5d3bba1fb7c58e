"""Data inside the page: compressed JSON as text that no parser of HTML takes for markup."""

import base64
import gzip
import json
from typing import Any


def packed(value: Any) -> str:
    """`value` as base64 of gzip of JSON, always the same text; `payload(id)` of payload.js reads it.

    Raises `ValueError` for NaN and infinity, which JSON lacks.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode("utf-8", "surrogatepass"), compresslevel=6, mtime=0)).decode()
