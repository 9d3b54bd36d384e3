"""Max-norm on activations, done behind autograd's back."""

import copy

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class MaxNormLayer(nn.Module):
    def __init__(self, in_features, out_features, max_norm=1.0):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.max_norm = max_norm

    def forward(self, x):
        h = torch.tanh(self.linear(x))
        scale = (self.max_norm / h.detach().norm(dim=1, keepdim=True)).clamp(max=1.0)
        return h * scale


class Classifier(nn.Module):
    def __init__(self, features=6, hidden=10, classes=3):
        super().__init__()
        self.layer = MaxNormLayer(features, hidden)
        self.head = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.head(self.layer(x))


def train(model, loader, optimizer, criterion, epochs):
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.4f}")


def gradient_error(model, x, y, criterion, eps=1e-6):
    """Difference between the gradient and a finite difference (the scale held fixed) for one weight."""
    model = copy.deepcopy(model).double()
    x = x.double()
    model.zero_grad()
    criterion(model(x), y).backward()
    grad = model.layer.linear.bias.grad[0].item()
    with torch.no_grad():
        h = torch.tanh(model.layer.linear(x))
        scale = (model.layer.max_norm / h.norm(dim=1, keepdim=True)).clamp(max=1.0)
        values = []
        for sign in (1, -1):
            model.layer.linear.bias[0] += sign * eps
            values.append(criterion(model.head(torch.tanh(model.layer.linear(x)) * scale), y).item())
            model.layer.linear.bias[0] -= sign * eps
    return abs(grad - (values[0] - values[1]) / (2 * eps))


if __name__ == "__main__":
    torch.manual_seed(0)
    x, y = 3 * torch.randn(40, 6), torch.randint(0, 3, (40,))
    model, criterion = Classifier(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, DataLoader(TensorDataset(x, y), batch_size=10, shuffle=True), optimizer, criterion, epochs=2)
    error = gradient_error(model, x, y, criterion)
    print("gradient error", error)

# torch: error < 1e-6
