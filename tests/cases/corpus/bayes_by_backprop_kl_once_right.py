import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class BayesLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.w_mu = nn.Parameter(torch.zeros(n_out, n_in).uniform_(-0.2, 0.2))
        self.w_rho = nn.Parameter(torch.full((n_out, n_in), -5.0))

    @property
    def sigma(self):
        return torch.log1p(torch.exp(self.w_rho))

    def forward(self, x):
        w = self.w_mu + self.sigma * torch.randn_like(self.w_mu)
        return F.linear(x, w)

    def kl(self):
        s = self.sigma
        return (-torch.log(s) + 0.5 * (s**2 + self.w_mu**2) - 0.5).sum()


class BNN(nn.Module):
    def __init__(self, *sizes):
        super().__init__()
        self.layers = nn.ModuleList(BayesLinear(a, b) for a, b in zip(sizes[:-1], sizes[1:]))

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if i + 1 < len(self.layers):
                x = F.relu(x)
        return x

    def kl(self):
        return sum(layer.kl() for layer in self.layers)


net = BNN(2, 8, 1)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
batches = [(torch.randn(5, 2), torch.randn(5, 1)) for _ in range(3)]
for epoch in range(2):
    for x, y in batches:
        kl = net.kl() / len(batches)
        nll = F.gaussian_nll_loss(net(x), y, torch.full_like(y, math.exp(-2)))
        loss = nll + kl
        opt.zero_grad()
        loss.backward()
        opt.step()
