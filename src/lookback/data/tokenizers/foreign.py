"""Renumbers any ``tokenizer.json``, so that its vocabulary begins with the four special tokens."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import tokenizers

from lookback.common.special_tokens import SPECIAL_TOKENS, UNK


def renumbered(text: str) -> tokenizers.Tokenizer:
    """The tokenizer of ``text``, the content of a tokenizer.json, with this project's ids. It splits text as before.

    Its tokens keep their order after the four special tokens. Its own unknown token, if it has one, becomes ``<unk>``;
    without one, text that it would leave out becomes ``<unk>`` too. Its other special tokens are no longer special:
    this project adds its own. A tokenizer that this project saved does not change.

    Raises:
        Exception: whatever the library raises on malformed content.
    """
    # the library reads older versions of the format, and writes the present one
    state: dict[str, Any] = json.loads(tokenizers.Tokenizer.from_str(text).to_str())
    model = state["model"]
    if model["type"] == "Unigram":
        unknown = model["vocab"][model["unk_id"]][0] if model["unk_id"] is not None else None
        scores = dict(map(tuple, model["vocab"]))
        vocabulary = _vocabulary(scores, unknown)
        lowest = min(scores.values())
        model["vocab"] = [[token, scores.get(token, lowest)] for token in vocabulary]
        model["unk_id"] = UNK
    else:
        vocabulary = _vocabulary(sorted(model["vocab"], key=model["vocab"].__getitem__), model["unk_token"])
        model["vocab"] = {token: i for i, token in enumerate(vocabulary)}
        model["unk_token"] = SPECIAL_TOKENS[UNK]
    ids = {token: i for i, token in enumerate(vocabulary)}
    added = [token for token in state["added_tokens"] if not token["special"]]
    state["added_tokens"] = [{**token, "id": ids.setdefault(token["content"], len(ids))} for token in added]
    state |= {"post_processor": None, "truncation": None, "padding": None}
    return tokenizers.Tokenizer.from_str(json.dumps(state))


def _vocabulary(tokens: Iterable[str], unknown: str | None) -> list[str]:
    return [*SPECIAL_TOKENS, *(token for token in tokens if token not in (*SPECIAL_TOKENS, unknown))]
