import torch
from torch import nn
import torch.nn.functional as F


class KWinners(nn.Module):
    """Keeps the k largest activations."""

    def __init__(self, k):
        super().__init__()
        self.k = k

    def forward(self, x):
        threshold = x.detach().topk(self.k, dim=1).values[:, -1:]
        return torch.where(x < threshold, torch.zeros_like(x), x)


class SparseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(6, 10)
        self.kw = KWinners(4)
        self.l2 = nn.Linear(10, 2)

    def forward(self, x):
        return self.l2(self.kw(torch.sigmoid(self.l1(x))))


torch.manual_seed(0)
net = SparseNet()
opt = torch.optim.Adam(net.parameters())
for step in range(3):
    x, y = torch.randn(8, 6), torch.randint(0, 2, (8,))
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
h = torch.sigmoid(net.l1(x))
before = h.detach().clone()
out = net.kw(h)
# torch: torch.equal(before, h)
