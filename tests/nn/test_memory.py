import torch

from lookback.nn import length_mask


def test_the_mask_is_true_on_the_first_length_positions():
    assert length_mask(torch.tensor([3, 0, 1]), 4).tolist() == [
        [True, True, True, False],
        [False, False, False, False],
        [True, False, False, False],
    ]
