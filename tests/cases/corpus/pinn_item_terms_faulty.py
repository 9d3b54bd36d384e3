"""A physics-informed network for u'' = -u with u(0) = 0 and u(pi / 2) = 1."""

import math

import torch
import torch.nn as nn


class PINN(nn.Module):
    def __init__(self, hidden=16, layers=2):
        super().__init__()
        dims = [1] + [hidden] * layers
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in zip(dims, dims[1:]))
        self.last = nn.Linear(hidden, 1)

    def forward(self, x):
        for layer in self.hidden:
            x = torch.tanh(layer(x))
        return self.last(x)


def derivative(y, x):
    return torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y), create_graph=True)[0]


def residual_loss(model, x):
    x = x.clone().requires_grad_(True)
    u = model(x)
    u_x = derivative(u, x)
    u_xx = derivative(u_x, x)
    return ((u_xx + u) ** 2).mean()


def boundary_loss(model):
    x = torch.tensor([[0.0], [math.pi / 2]])
    target = torch.tensor([[0.0], [1.0]])
    return ((model(x) - target) ** 2).mean()


class Solver:
    def __init__(self, model, lr=5e-3, weights=(1.0, 10.0)):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.weights = weights
        self.log = []

    def losses(self, x):
        return [residual_loss(self.model, x), boundary_loss(self.model)]

    def step(self, x):
        self.optimizer.zero_grad()
        terms = self.losses(x)
        loss = torch.tensor([w * term.item() for w, term in zip(self.weights, terms)]).sum()
        loss.backward()  # error: [detached-loss] # raises: RuntimeError "does not require grad"
        self.optimizer.step()
        self.log.append([term.item() for term in terms])
        return loss.item()

    def solve(self, n_points=32, steps=10):
        for step in range(steps):
            x = torch.rand(n_points, 1) * math.pi / 2
            loss = self.step(x)
            if step % 5 == 0:
                print(f"step {step}: loss {loss:.5f}")
        return self.log


if __name__ == "__main__":
    torch.manual_seed(0)
    solver = Solver(PINN())
    log = solver.solve()
    with torch.no_grad():
        grid = torch.linspace(0, math.pi / 2, 20).unsqueeze(1)
        error = (solver.model(grid) - torch.sin(grid)).abs().max().item()
    print("largest error", error)
