"""What is read: corpora, and the files behind them."""
