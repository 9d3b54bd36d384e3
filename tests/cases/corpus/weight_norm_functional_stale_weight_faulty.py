import torch
from torch import nn
import torch.nn.functional as F


class WNLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.v = nn.Parameter(torch.randn(n_out, n_in) * 0.05)
        self.g = nn.Parameter(torch.ones(n_out, 1))
        self.bias = nn.Parameter(torch.zeros(n_out))
        self.weight = self._compute()

    def _compute(self):
        return self.g * self.v / self.v.norm(dim=1, keepdim=True)

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)


net = nn.Sequential(WNLinear(3, 6), nn.ELU(), WNLinear(6, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(4):
    x = torch.randn(8, 3)
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
    opt.step()
