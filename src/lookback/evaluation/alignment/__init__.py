"""Links between words: from weights to links, and how good they are."""
