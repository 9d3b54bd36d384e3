import torch
from torch import nn


class TraceEstimator:
    """Hutchinson's estimate of the trace of the Hessian."""

    def __init__(self, model, criterion, samples=2):
        self.model, self.criterion, self.samples = model, criterion, samples
        self.params = [p for p in model.parameters() if p.requires_grad]

    def _gradient(self, x, y):
        loss = self.criterion(self.model(x), y)
        return torch.autograd.grad(loss, self.params, create_graph=True)

    def estimate(self, x, y):
        total = 0.0
        grads = self._gradient(x, y)
        for _ in range(self.samples):
            v = [torch.randint_like(p, high=2) * 2 - 1 for p in self.params]
            dot = sum((g * each).sum() for g, each in zip(grads, v))
            hv = torch.autograd.grad(dot, self.params, retain_graph=True)
            total += sum((h * each).sum() for h, each in zip(hv, v)).item()
        return total / self.samples


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion = nn.CrossEntropyLoss()
    estimator = TraceEstimator(model, criterion)
    for epoch in range(2):
        x, y = torch.rand(8, 4), torch.randint(0, 2, (8,))
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
        print(epoch, estimator.estimate(x, y))


if __name__ == "__main__":
    main()
