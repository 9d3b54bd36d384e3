"""Every fix that is offered, applied and run under PyTorch."""
