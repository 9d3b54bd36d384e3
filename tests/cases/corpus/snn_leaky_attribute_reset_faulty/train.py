import torch
import torch.nn.functional as F
from spiking import SpikingNet

torch.manual_seed(0)
net = SpikingNet(10, 20, 4)
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)


def batch():
    return torch.rand(8, 10), torch.randint(0, 4, (8,))


for epoch in range(2):
    net.reset()
    for i in range(5):
        x, y = batch()
        rate = net(x)
        loss = F.cross_entropy(rate, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
