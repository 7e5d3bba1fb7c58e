"""The four symbols that every vocabulary starts with, at fixed ids."""

PAD, UNK, BOS, EOS = 0, 1, 2, 3
SYMBOLS = ("<pad>", "<unk>", "<s>", "</s>")
