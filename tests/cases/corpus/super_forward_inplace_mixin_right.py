import torch
from torch import nn


class ScaleMixin:
    def post(self, x):
        return x * self.scale


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.lin = nn.Linear(dim, dim)

    def forward(self, x):
        return torch.sigmoid(self.lin(x))


class ScaledBlock(ScaleMixin, Block):
    def __init__(self, dim, scale=0.5):
        super().__init__(dim)
        self.scale = scale

    def forward(self, x):
        h = super().forward(x)
        return x + self.post(h)


net = nn.Sequential(*[ScaledBlock(4) for _ in range(2)], nn.Linear(4, 1))
optim = torch.optim.Adam(net.parameters())
for i in range(2):
    x = torch.randn(3, 4)
    loss = net(x).mean()
    optim.zero_grad()
    loss.backward()
    optim.step()
