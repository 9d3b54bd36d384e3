"""A shadow PyTorch: tensors without numbers, their graph, and when backward raises. It knows no Python source."""
