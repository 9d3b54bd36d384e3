"""What the standard library, NumPy and progress bars mean, one file a library."""
