import torch
from torch import nn


class HyperNet(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.shapes = {n: p.shape for n, p in target.named_parameters()}
        total = sum(p.numel() for p in target.parameters())
        self.net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, total))

    def forward(self, z):
        flat, out, i = self.net(z), {}, 0
        for n, shape in self.shapes.items():
            size = shape.numel()
            out[n] = flat[i : i + size].view(shape)
            i += size
        return out


target = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
for p in target.parameters():
    p.requires_grad_(False)
hyper = HyperNet(target)
opt = torch.optim.Adam(hyper.parameters())
for _ in range(2):
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    weights = hyper(torch.randn(2))
    pred = torch.func.functional_call(target, weights, (x,))
    loss = (pred - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
