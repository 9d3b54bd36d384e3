import torch
import torch.nn as nn


class Wave(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 12), nn.Tanh(), nn.Linear(12, 1))
        self.c = nn.Parameter(torch.tensor(1.0))

    def forward(self, points):
        return self.net(points)


def derivative(y, x):
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]  # error: [detached-loss]  # raises: RuntimeError "not have been used"


def residual(model, points):
    x, t = points[:, :1], points[:, 1:]
    u = model(points)
    u_x, u_t = derivative(u, x), derivative(u, t)
    return derivative(u_t, t) - model.c ** 2 * derivative(u_x, x)


model = Wave()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for it in range(3):
    points = torch.rand(16, 2, requires_grad=True)
    loss = residual(model, points).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
