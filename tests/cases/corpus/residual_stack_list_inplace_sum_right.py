import torch
from torch import nn


class DenseAggregate(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.layers = nn.ModuleList([nn.Sequential(nn.Linear(d, d), nn.Tanh()) for _ in range(n)])

    def forward(self, x):
        outs = [layer(x) for layer in self.layers]
        total = outs[0]
        for o in outs[1:]:
            total = total + o
        return total


model = nn.Sequential(DenseAggregate(3, 3), nn.Linear(3, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    loss = model(torch.randn(2, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
