"""What the standard library does not have, or loads too slowly; nothing here knows of PyTorch or of Python source."""
