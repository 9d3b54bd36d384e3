"""What PyTorch's names mean, one file a part of its API. What operations save and free is in `autograd/ops.json`."""
