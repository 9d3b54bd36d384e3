"""Fit a damped sine with L-BFGS, which evaluates the loss several times in each step."""

import torch
import torch.nn as nn
from torch.optim import LBFGS


class DampedSine(nn.Module):
    """a * exp(-b t) * sin(w t + p)"""

    def __init__(self):
        super().__init__()
        self.amplitude = nn.Parameter(torch.tensor(0.7))
        self.decay = nn.Parameter(torch.tensor(0.3))
        self.omega = nn.Parameter(torch.tensor(2.5))
        self.phase = nn.Parameter(torch.tensor(0.2))

    def forward(self, t):
        return self.amplitude * torch.exp(-self.decay * t) * torch.sin(self.omega * t + self.phase)


def make_data(n=100):
    t = torch.linspace(0, 6, n)
    y = torch.exp(-0.4 * t) * torch.sin(2.8 * t) + 0.01 * torch.randn(n)
    return t, y


def fit(model, t, y, steps=5, penalty=1e-3):
    criterion = nn.MSELoss()
    optimizer = LBFGS(model.parameters(), lr=0.5, max_iter=8, line_search_fn="strong_wolfe")
    history = []

    for step in range(steps):
        prediction = model(t)
        loss = criterion(prediction, y) + penalty * model.decay**2

        def closure():
            optimizer.zero_grad()
            loss.backward()
            return loss

        value = optimizer.step(closure)
        history.append(value.item())
        print(f"step {step}: loss {value.item():.6f}")
    return history


def main():
    torch.manual_seed(0)
    t, y = make_data()
    model = DampedSine()
    fit(model, t, y)
    with torch.no_grad():
        residual = (model(t) - y).abs().max().item()
    print(f"largest residual: {residual:.4f}")
    print({name: round(p.item(), 3) for name, p in model.named_parameters()})


if __name__ == "__main__":
    main()
