from itertools import accumulate

import torch
from torch import nn

net = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
stages = torch.randn(4, 5, 3)

for epoch in range(2):
    losses = [net(x).pow(2).mean() for x in stages]
    opt.zero_grad()
    for partial in accumulate(losses):
        partial.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
    opt.step()
