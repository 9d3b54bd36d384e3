"""Demand forecasting: RMSE plus an L1 penalty on the weights."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Forecaster(nn.Module):
    def __init__(self, window, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(window, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(self.net(x)).squeeze(-1)


class RMSELoss(nn.Module):
    def __init__(self, eps=1e-8):
        super().__init__()
        self.mse = nn.MSELoss()
        self.eps = eps

    def forward(self, yhat, y):
        return torch.sqrt(self.mse(yhat, y) + self.eps)


def windows(series, size):
    x = series.unfold(0, size, 1)[:-1]
    return x.clone(), series[size:].clone()


def train_model(model, train_loader, criterion, optimizer, l1_lambda, device):
    model.train()
    running = 0.0
    for inputs, targets in train_loader:
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = criterion(outputs, targets)
        for name, param in model.named_parameters():
            if "weight" in name:
                loss = loss + l1_lambda * param.abs().sum()
        loss.backward()
        optimizer.step()
        running += loss.item()
    return running / len(train_loader)


def main():
    torch.manual_seed(10)
    device = torch.device("cpu")
    t = torch.arange(0, 120, dtype=torch.float32)
    series = torch.sin(t / 5) + 0.05 * torch.randn_like(t)
    x, y = windows(series, 8)
    loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
    model = Forecaster(8, 16).to(device)
    criterion = RMSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(3):
        loss = train_model(model, loader, criterion, optimizer, l1_lambda=1e-4, device=device)
        print("epoch", epoch, "loss", round(loss, 4))


if __name__ == "__main__":
    main()
