"""Any `tokenizer.json`, renumbered so that its vocabulary begins with the four symbols."""

from __future__ import annotations

import json
from typing import Any

import tokenizers

from lookback.common.special_tokens import SPECIAL_TOKENS, UNK


def adopted(text: str) -> tokenizers.Tokenizer:
    """The tokenizer that `text`, the content of a tokenizer.json, describes, cutting text as it does there.

    Its pieces keep their order behind the four symbols. Its own unknown piece, if it has one, becomes `<unk>`, and what
    would have had none is unknown too rather than left out. Its other special tokens are no longer special: this
    project puts the marks in itself. A tokenizer that this project saved is given back as it was.

    Errors: whatever the library raises on malformed content.
    """
    # the library writes every version of the format in one way
    state: dict[str, Any] = json.loads(tokenizers.Tokenizer.from_str(text).to_str())
    model = state["model"]
    if model["type"] == "Unigram":
        unknown = model["vocab"][model["unk_id"]][0] if model["unk_id"] is not None else None
        scores = dict(map(tuple, model["vocab"]))
        pieces = _renumbered(scores, unknown)
        lowest = min(scores.values())
        model["vocab"] = [[piece, scores.get(piece, lowest)] for piece in pieces]
        model["unk_id"] = UNK
    else:
        pieces = _renumbered(sorted(model["vocab"], key=model["vocab"].__getitem__), model["unk_token"])
        model["vocab"] = {piece: i for i, piece in enumerate(pieces)}
        model["unk_token"] = SPECIAL_TOKENS[UNK]
    ids = {piece: i for i, piece in enumerate(pieces)}
    added = [token for token in state["added_tokens"] if not token["special"]]
    state["added_tokens"] = [{**token, "id": ids.setdefault(token["content"], len(ids))} for token in added]
    state |= {"post_processor": None, "truncation": None, "padding": None}
    return tokenizers.Tokenizer.from_str(json.dumps(state))


def _renumbered(pieces: Any, unknown: str | None) -> list[str]:
    return [*SPECIAL_TOKENS, *(piece for piece in pieces if piece not in (*SPECIAL_TOKENS, unknown))]
