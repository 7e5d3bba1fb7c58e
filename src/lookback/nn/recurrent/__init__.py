"""The recurrent encoder and decoder, and what they are made of."""
