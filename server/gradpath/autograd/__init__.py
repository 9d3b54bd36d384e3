"""A shadow PyTorch: tensors without numbers, their graph, and when backward raises. It knows nothing of Python source."""
