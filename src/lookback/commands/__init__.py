"""The commands, a file each, and how they start and fail."""
