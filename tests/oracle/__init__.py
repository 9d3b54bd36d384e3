"""The oracle: random PyTorch programs, run by PyTorch and by gradpath, and compared by exception and line."""
