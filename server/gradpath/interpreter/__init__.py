"""Abstract interpretation of Python: it runs the source in the mind, and knows no torch name."""
