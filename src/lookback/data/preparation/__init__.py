"""What happens to text before training: it is filtered and encoded, and the results are cached."""
