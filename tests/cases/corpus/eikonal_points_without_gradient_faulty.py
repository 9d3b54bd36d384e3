import torch
from torch import nn


class Sine(nn.Module):
    def forward(self, x):
        return torch.sin(30 * x)


class SDF(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, width), Sine(), nn.Linear(width, width), Sine(), nn.Linear(width, 1))

    def forward(self, points):
        return self.net(points)


def gradient(values, points):
    return torch.autograd.grad(values, points, grad_outputs=torch.ones_like(values), create_graph=True)[0]  # error: [detached-loss] # raises: RuntimeError "does not require grad"


def losses(model, surface, normals, n_free=8):
    free = torch.rand(n_free, 3) * 2 - 1
    on_surface = model(surface)
    normal = gradient(on_surface, surface)
    eikonal = (gradient(model(free), free).norm(dim=1) - 1).pow(2).mean()
    align = (1 - torch.cosine_similarity(normal, normals, dim=1)).mean()
    return on_surface.abs().mean() + 0.1 * eikonal + 0.5 * align


def sphere(n):
    p = torch.randn(n, 3)
    p = p / p.norm(dim=1, keepdim=True)
    return p, p.clone()


def main():
    model = SDF()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    for it in range(3):
        surface, normals = sphere(6)
        loss = losses(model, surface, normals)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(it, loss.item())


main()
