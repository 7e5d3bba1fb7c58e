"""Tables: for the terminal, and as CSV."""
