"""What happens to text before training: it is filtered, encoded and kept."""
