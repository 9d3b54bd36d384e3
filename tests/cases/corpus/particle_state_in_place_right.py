"""A learned force field is fitted by simulating it."""
import torch
from torch import nn


class ForceField(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, pos):
        return self.net(pos)


class Simulator:
    def __init__(self, field, dt=0.1):
        self.field = field
        self.dt = dt

    def reset(self, pos, vel):
        self.pos = pos.clone()
        self.vel = vel.clone()

    def step(self):
        acc = self.field(self.pos)
        self.vel = self.vel + self.dt * acc
        self.pos = self.pos + self.dt * self.vel

    def rollout(self, n):
        path = []
        for _ in range(n):
            self.step()
            path.append(self.pos.clone())
        return torch.stack(path)


def fit(sim, targets, starts, optimizer, epochs):
    for epoch in range(epochs):
        for target, (pos, vel) in zip(targets, starts):
            sim.reset(pos, vel)
            loss = (sim.rollout(len(target)) - target).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"{epoch}: {loss.item():.4f}")


torch.manual_seed(0)
field = ForceField()
starts = [(torch.randn(5, 2), torch.randn(5, 2)) for _ in range(2)]
targets = [torch.randn(4, 5, 2) for _ in range(2)]
fit(Simulator(field), targets, starts, torch.optim.Adam(field.parameters()), 2)
