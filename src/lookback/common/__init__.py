"""What belongs to no folder alone: errors, checks of arguments, whole files, what a word is, special tokens."""
