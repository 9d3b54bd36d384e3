"""Losses that are balanced by their running averages."""

import torch
import torch.nn as nn


class LossBalancer:
    """Weighs the tasks by a running average of their losses."""

    def __init__(self, names, beta=0.9):
        self.beta = beta
        self.running = {name: None for name in names}

    def update(self, losses):
        for name, value in losses.items():
            old = self.running[name]
            self.running[name] = value if old is None else self.beta * old + (1 - self.beta) * value  # warning: [live-accumulator]

    def weights(self):
        return {name: 1.0 / (float(value) + 1e-8) for name, value in self.running.items()}


def train(encoder, heads, loader, optimizer, epochs):
    balancer = LossBalancer(list(heads))
    for epoch in range(epochs):
        for x, targets in loader:
            h = torch.relu(encoder(x))
            losses = {name: nn.functional.mse_loss(head(h), targets[name]) for name, head in heads.items()}
            balancer.update(losses)
            w = balancer.weights()
            loss = sum(w[name] * losses[name] for name in losses)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return balancer


encoder = nn.Linear(4, 8)
heads = nn.ModuleDict({"a": nn.Linear(8, 1), "b": nn.Linear(8, 2)})
opt = torch.optim.Adam([*encoder.parameters(), *heads.parameters()])
data = [(torch.randn(6, 4), {"a": torch.randn(6, 1), "b": torch.randn(6, 2)}) for _ in range(3)]
balancer = train(encoder, heads, data, opt, 2)

# torch: balancer.running["a"].requires_grad
