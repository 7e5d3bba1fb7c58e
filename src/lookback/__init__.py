"""What attention buys a recurrent translator, and from which sentence length on."""

__version__ = "0.1.0"
