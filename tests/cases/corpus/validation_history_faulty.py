import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class SurvivalNet(nn.Module):
    """Log-hazard of a Cox model."""

    def __init__(self, features):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, 12), nn.SELU(), nn.Linear(12, 1, bias=False))

    def forward(self, x):
        return self.net(x).squeeze(1)


def cox_loss(log_hazard, time, event):
    order = time.argsort(descending=True)
    log_hazard, event = log_hazard[order], event[order]
    log_risk = torch.logcumsumexp(log_hazard, dim=0)
    return -((log_hazard - log_risk) * event).sum() / event.sum().clamp(min=1)


class EarlyStopping:
    def __init__(self, patience=2):
        self.patience, self.best, self.bad = patience, float("inf"), 0

    def should_stop(self, value):
        if value < self.best:
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        return self.bad >= self.patience


def train_epoch(model, loader, optimizer):
    model.train()
    for x, time, event in loader:
        loss = cox_loss(model(x), time, event)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def validate(model, loader):
    model.eval()
    val_losses = []
    for x, time, event in loader:
        val_losses.append(cox_loss(model(x), time, event))  # warning: [live-accumulator]
    return val_losses


def run(model, train_loader, val_loader, optimizer, max_epochs):
    stopping, history = EarlyStopping(), []
    for epoch in range(max_epochs):
        train_epoch(model, train_loader, optimizer)
        history.append(validate(model, val_loader))
        mean = sum(loss.item() for loss in history[-1]) / len(history[-1])
        print(f"epoch {epoch}: validation {mean:.4f}")
        if stopping.should_stop(mean):
            break
    return history


def main():
    torch.manual_seed(0)
    x = torch.randn(60, 4)
    time = torch.distributions.Exponential(torch.exp(x[:, 0])).sample()
    train_set, val_set = random_split(TensorDataset(x, time, (torch.rand(60) < 0.7).float()), [40, 20])
    model = SurvivalNet(4)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return run(model, DataLoader(train_set, batch_size=20), DataLoader(val_set, batch_size=10), optimizer, 3)


if __name__ == "__main__":
    history = main()

# torch: all(loss.grad_fn is not None for epoch in history for loss in epoch)
