import torch

from .forward import forward_batch


def evaluate(model, loader, criterion):
    model.eval()
    losses = torch.stack([forward_batch(model, batch, criterion)[0] for batch in loader])
    return losses.mean().item()
