import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

QUANTILES = (0.1, 0.5, 0.9)


class QuantileNet(nn.Module):
    def __init__(self, features, hidden=16, quantiles=QUANTILES):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(features, hidden), nn.ReLU())
        self.heads = nn.ModuleList(nn.Linear(hidden, 1) for _ in quantiles)

    def forward(self, x):
        h = self.trunk(x)
        return torch.cat([head(h) for head in self.heads], dim=1)


class PinballLoss(nn.Module):
    def __init__(self, quantiles=QUANTILES, reduction="mean"):
        super().__init__()
        self.register_buffer("quantiles", torch.tensor(quantiles))
        self.reduction = reduction

    def forward(self, prediction, target):
        error = target.unsqueeze(1) - prediction
        loss = torch.maximum(self.quantiles * error, (self.quantiles - 1) * error)
        if self.reduction == "mean":
            return loss.mean()
        if self.reduction == "batch":
            return loss.mean(dim=0)
        return loss


class Experiment:
    def __init__(self, features, lr=1e-2):
        self.model = QuantileNet(features)
        self.criterion = PinballLoss(reduction="mean")
        self.report = PinballLoss(reduction="batch")
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)

    def training_step(self, batch):
        x, y = batch
        return self.criterion(self.model(x), y)

    def run(self, loader, epochs):
        for epoch in range(epochs):
            for batch in loader:
                self.optimizer.zero_grad()
                loss = self.training_step(batch)
                loss.backward()
                self.optimizer.step()
            self.evaluate(loader, epoch)

    @torch.no_grad()
    def evaluate(self, loader, epoch):
        per_quantile = torch.stack([self.report(self.model(x), y) for x, y in loader]).mean(dim=0)
        print(f"epoch {epoch}:", dict(zip(QUANTILES, per_quantile.tolist())))


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(50, 3)
    y = x[:, 0] + 0.5 * torch.randn(50) * x[:, 1].abs()
    Experiment(features=3).run(DataLoader(TensorDataset(x, y), batch_size=10, shuffle=True), epochs=2)
