import math

import torch
from torch import nn, optim

NOISE = 0.05


class RandomFourier(nn.Module):
    """Fourier features whose frequencies are trained together with the regression."""

    def __init__(self, n_features):
        super().__init__()
        self.freq = nn.Parameter(torch.randn(1, n_features))
        self.phase = nn.Parameter(2 * math.pi * torch.rand(n_features))

    def forward(self, x):
        return torch.cos(x @ self.freq + self.phase)


class Regression:
    def __init__(self, n_features=8, l2=1e-4):
        self.features = RandomFourier(n_features)
        self.head = nn.Linear(n_features, 1)
        self.l2 = l2
        self.parameters = list(self.features.parameters()) + list(self.head.parameters())
        self.optimizer = optim.LBFGS(self.parameters, max_iter=6, history_size=5)

    def penalty(self):
        return self.l2 * sum(p.pow(2).sum() for p in self.parameters)

    def fit_step(self, x, y):
        penalty = self.penalty()

        def closure():
            self.optimizer.zero_grad()
            residual = self.head(self.features(x)) - y
            loss = residual.pow(2).mean() + penalty
            if loss.requires_grad:
                loss.backward()  # error: [double-backward] # raises: RuntimeError "through the graph a second time"
            return loss

        return float(self.optimizer.step(closure))

    @torch.no_grad()
    def predict(self, x):
        return self.head(self.features(x))


def dataset(n=64):
    x = torch.linspace(-3, 3, n).unsqueeze(1)
    y = torch.sin(2 * x) + 0.3 * x + NOISE * torch.randn_like(x)
    return x, y


def main():
    torch.manual_seed(0)
    x, y = dataset()
    regression = Regression()
    for step in range(5):
        loss = regression.fit_step(x, y)
        print(f"step {step}: {loss:.5f}")
    rmse = (regression.predict(x) - y).pow(2).mean().sqrt().item()
    print(f"RMSE {rmse:.4f}")


if __name__ == "__main__":
    main()
