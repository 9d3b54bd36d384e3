import torch


def rate_encode(data, steps):
    """Bernoulli spikes with the data as rates, one frame a time step."""
    for _ in range(steps):
        yield torch.bernoulli(data)
