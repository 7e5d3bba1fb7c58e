"""Code that all folders share: errors, checks of arguments, atomic writes, words, special tokens."""
