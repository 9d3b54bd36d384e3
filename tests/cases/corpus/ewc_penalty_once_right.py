"""Continual learning: a quadratic penalty holds the weights near those of the first task."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, features=5, classes=3):
        super().__init__()
        self.hidden = nn.Linear(features, 16)
        self.out = nn.Linear(16, classes)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))


def snapshot(model):
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def fisher_diagonal(model, loader, criterion):
    fisher = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
    for x, y in loader:
        model.zero_grad()
        criterion(model(x), y).backward()
        for name, p in model.named_parameters():
            fisher[name] += p.grad.detach() ** 2 / len(loader)
    model.zero_grad()
    return fisher


def ewc_penalty(model, anchor, fisher):
    return sum((fisher[name] * (p - anchor[name]) ** 2).sum() for name, p in model.named_parameters())


def train_task(model, loader, optimizer, criterion, anchor=None, fisher=None, strength=100.0, epochs=2):
    penalty = torch.zeros(())
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            if anchor is not None:
                penalty = strength * ewc_penalty(model, anchor, fisher)
            loss = criterion(model(x), y) + penalty
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.4f}, penalty {penalty.item():.6f}")


def make_task(seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(30, 5, generator=generator)
    y = torch.randint(0, 3, (30,), generator=generator)
    return DataLoader(TensorDataset(x, y), batch_size=10, shuffle=True)


def main():
    torch.manual_seed(0)
    model = Net()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    first, second = make_task(1), make_task(2)
    train_task(model, first, optimizer, criterion)
    anchor, fisher = snapshot(model), fisher_diagonal(model, first, criterion)
    train_task(model, second, optimizer, criterion, anchor, fisher)


if __name__ == "__main__":
    main()
