from __future__ import annotations

import torch
from torch import Tensor, nn


class AdaptiveTemperature(nn.Module):
    """Contrastive loss whose temperature follows the hardness of the batch."""

    def __init__(self, start: float = 0.5, rate: float = 0.05) -> None:
        super().__init__()
        self.rate = rate
        self.tau: float | Tensor = start

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        sim = nn.functional.normalize(a, dim=1) @ nn.functional.normalize(b, dim=1).t()
        target = torch.arange(len(a))
        loss = nn.functional.cross_entropy(sim / self.tau, target)
        hardness = sim.diagonal().mean()
        self.tau = (1 - self.rate) * self.tau + self.rate * (1.1 - hardness.item())
        return loss


class Projector(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(dim, dim), nn.Linear(dim, 4)])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        return self.layers[-1](x)


def train(projector: nn.Module, criterion: nn.Module, steps: int) -> list[float]:
    optimizer = torch.optim.Adam(projector.parameters(), lr=1e-3)
    losses: list[float] = []
    for _ in range(steps):
        x = torch.randn(8, 6)
        loss = criterion(projector(x), projector(x + 0.05 * torch.randn_like(x)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    return losses


if __name__ == "__main__":
    torch.manual_seed(0)
    print(train(Projector(6), AdaptiveTemperature(), 4))
