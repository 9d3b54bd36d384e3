"""Sampling from a mixture-density network; a post-processing helper overwrites what softmax saved."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class MDN(nn.Module):
    def __init__(self, in_dim=1, hidden=16, components=3):
        super().__init__()
        self.hidden = nn.Linear(in_dim, hidden)
        self.pi = nn.Linear(hidden, components)
        self.mu = nn.Linear(hidden, components)
        self.log_sigma = nn.Linear(hidden, components)

    def forward(self, x):
        h = torch.tanh(self.hidden(x))
        pi = F.softmax(self.pi(h), dim=1)
        sigma = torch.exp(self.log_sigma(h))
        return floor_probabilities(pi), self.mu(h), sigma


def floor_probabilities(pi, minimum=1e-3):
    """No component may die out: at least `minimum`, and still a distribution."""
    pi = pi.clamp(min=minimum)
    return pi / pi.sum(dim=1, keepdim=True)


def mdn_loss(pi, mu, sigma, y):
    log_normal = -0.5 * ((y - mu) / sigma) ** 2 - torch.log(sigma) - 0.5 * math.log(2 * math.pi)
    return -torch.logsumexp(torch.log(pi) + log_normal, dim=1).mean()


def train(model, loader, opt, epochs):
    for epoch in range(epochs):
        running = 0.0
        for x, y in loader:
            pi, mu, sigma = model(x)
            loss = mdn_loss(pi, mu, sigma, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.item()
        print(f"epoch {epoch}: nll {running / len(loader):.4f}")


@torch.no_grad()
def sample(model, x):
    pi, mu, sigma = model(x)
    k = torch.multinomial(pi, 1)
    return torch.normal(mu.gather(1, k), sigma.gather(1, k))


def main():
    torch.manual_seed(0)
    y = torch.rand(60, 1) * 2 - 1
    x = y + 0.3 * torch.sin(6 * y) + 0.05 * torch.randn_like(y)
    model = MDN()
    train(model, DataLoader(TensorDataset(x, y), batch_size=15, shuffle=True), torch.optim.Adam(model.parameters()), 2)
    print(sample(model, x[:3]).squeeze(1).tolist())


if __name__ == "__main__":
    main()
