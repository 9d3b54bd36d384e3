"""gradpath finds PyTorch autograd mistakes while the user types."""

__version__ = "0.1.0"
