"""Abstract interpretation of Python: it runs the source on abstract values, and knows no name of PyTorch."""
