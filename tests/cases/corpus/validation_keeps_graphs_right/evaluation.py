import torch


def evaluate(model, loader, criterion):
    model.eval()
    losses, hits, n = [], 0, 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            losses.append(criterion(out, y))
            hits += (out.argmax(1) == y).sum().item()
            n += len(y)
    return losses, hits / n
