"""What the runs say: their arms, the differences between them, and the answer in words."""
