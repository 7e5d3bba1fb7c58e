"""Greedy and beam search as a textbook has them, for a fixed number of steps: what ours is held against."""

import torch
from cases import BOS, EOS, PAD
from torch import Tensor

from lookback.nn import Seq2Seq


@torch.inference_mode()
def plain_search(model: Seq2Seq, source: Tensor, lengths: Tensor, beam_size: int, steps: int) -> list[list[int]]:
    """The words of the likeliest translation of each sentence, where none may end; a beam of 1 is greedy search."""
    memory = model.encoder(source, lengths)
    state = model.decoder.start(memory)
    words = torch.full((len(source), 1), BOS, device=source.device)
    totals = torch.zeros(words.shape, device=source.device)
    translations = words[:, :, None]
    for _ in range(steps):
        state, vectors, _ = model.decoder.step(state, words)
        scores = model.logits(vectors).log_softmax(-1)
        scores[..., [PAD, BOS, EOS]] = -torch.inf
        totals, best = (totals.unsqueeze(-1) + scores).flatten(1).topk(beam_size)
        origin, words = best // scores.shape[-1], best % scores.shape[-1]
        state = state.reorder(origin)
        begun = translations.gather(1, origin.unsqueeze(-1).expand(-1, -1, translations.shape[-1]))
        translations = torch.cat([begun, words.unsqueeze(-1)], dim=-1)
    return translations[:, 0, 1:].tolist()
