"""A weight penalty that is computed from the values."""

import torch
import torch.nn as nn


def l2_penalty(model):
    total = 0.0
    for name, param in model.named_parameters():
        if "weight" in name:
            total = total + torch.sum(param.data ** 2)  # warning: [detached-term]
    return total


def train_model(model, loader, optimizer, criterion, lam, epochs):
    for epoch in range(epochs):
        epoch_loss = 0.0
        for inputs, targets in loader:
            optimizer.zero_grad()
            outputs = model(inputs)
            loss = criterion(outputs, targets) + lam * l2_penalty(model)
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
        print(f"{epoch}: {epoch_loss / len(loader):.4f}")


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 1))
for p in net.parameters():
    nn.init.constant_(p, 0.5)
data = [(torch.zeros(5, 4), torch.full((5, 1), 2.0)) for _ in range(2)]
train_model(net, data, torch.optim.SGD(net.parameters(), lr=1e-2), nn.MSELoss(), 10.0, 1)

# torch: float(net[0].weight.detach().mean()) == 0.5
