"""The Transformer's encoder and decoder (Vaswani et al. 2017), and what they are made of."""
