import torch


def evaluate(model, loader, criterion):
    model.eval()
    losses, hits, n = [], 0, 0
    for x, y in loader:
        out = model(x)
        losses.append(criterion(out, y))  # warning: [live-accumulator]
        hits += (out.argmax(1) == y).sum().item()
        n += len(y)
    return losses, hits / n
