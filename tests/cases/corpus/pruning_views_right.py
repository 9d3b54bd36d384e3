"""Magnitude pruning: flat views of the weights are masked after every step."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Pruner:
    def __init__(self, model, sparsity):
        self.sparsity = sparsity
        with torch.no_grad():
            self.flat = [p.view(-1) for p in model.parameters() if p.dim() > 1]
        self.masks = [torch.ones_like(flat) for flat in self.flat]

    def compute_masks(self):
        with torch.no_grad():
            for i, flat in enumerate(self.flat):
                k = int(self.sparsity * flat.numel())
                threshold = flat.abs().kthvalue(max(k, 1)).values
                self.masks[i] = (flat.abs() > threshold).float()

    def apply(self):
        with torch.no_grad():
            for flat, mask in zip(self.flat, self.masks):
                flat.mul_(mask)

    def density(self):
        return sum(mask.sum().item() for mask in self.masks) / sum(mask.numel() for mask in self.masks)


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 20)
        self.fc2 = nn.Linear(20, 20)
        self.fc3 = nn.Linear(20, 3)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        return self.fc3(torch.relu(self.fc2(x)))


def train(model, loader, optimizer, criterion, pruner, epochs):
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            pruner.apply()
        pruner.compute_masks()
        print(f"epoch {epoch}: {loss.item():.4f}, density {pruner.density():.2f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    model = MLP()
    loader = DataLoader(TensorDataset(torch.randn(40, 8), torch.randint(0, 3, (40,))), batch_size=10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    train(model, loader, optimizer, nn.CrossEntropyLoss(), Pruner(model, sparsity=0.3), epochs=2)
