import torch
from torch import nn
from quant import convert

torch.manual_seed(0)
net = convert(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Sequential(nn.Linear(8, 2))), bits=4)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(3):
    x, y = torch.randn(6, 4), torch.randint(0, 2, (6,))
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
    print(loss.item())
