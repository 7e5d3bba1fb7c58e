"""What belongs to no folder alone: the user's errors, checks of arguments, atomic files, what a word is, special tokens."""
