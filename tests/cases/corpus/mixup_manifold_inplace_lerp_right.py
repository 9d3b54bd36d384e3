import numpy as np
import torch
import torch.nn as nn


class ManifoldNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.block1 = nn.Sequential(nn.Linear(4, 8), nn.Sigmoid())
        self.block2 = nn.Sequential(nn.Linear(8, 8), nn.Sigmoid())
        self.fc = nn.Linear(8, 3)

    def forward(self, x, lam=None, perm=None, layer_mix=None):
        h = x
        for k, block in enumerate((self.block1, self.block2), start=1):
            h = block(h)
            if layer_mix is not None and k == layer_mix:
                h = lam * h + (1 - lam) * h[perm]
        return self.fc(h)


net = ManifoldNet()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
crit = nn.CrossEntropyLoss()
for _ in range(2):
    x, y = torch.randn(6, 4), torch.randint(0, 3, (6,))
    lam = float(np.random.beta(1.0, 1.0))
    perm = torch.randperm(6)
    out = net(x, lam, perm, layer_mix=1)
    loss = lam * crit(out, y) + (1 - lam) * crit(out, y[perm])
    opt.zero_grad()
    loss.backward()
    opt.step()
