import itertools

import torch
import torch.nn as nn


class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.share = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.1))
        self.d = nn.Sequential(nn.Linear(16, 1), nn.Sigmoid())
        self.q = nn.Linear(16, 3)

    def forward(self, x):
        h = self.share(x)
        return self.d(h), self.q(h)


class Noise:
    def __init__(self, batch):
        self.batch = batch

    def sample(self):
        idx = torch.randint(0, 3, (self.batch,))
        code = torch.zeros(self.batch, 3)
        code[range(self.batch), idx] = 1.0
        return torch.cat([torch.randn(self.batch, 4), code], 1), idx


def main(n_iter=3):
    G = nn.Sequential(nn.Linear(7, 16), nn.ReLU(), nn.Linear(16, 8))
    FE = Trunk()
    bce, ce = nn.BCELoss(), nn.CrossEntropyLoss()
    optD = torch.optim.Adam([{"params": FE.share.parameters()}, {"params": FE.d.parameters()}], lr=2e-4)
    optG = torch.optim.Adam(itertools.chain(G.parameters(), FE.q.parameters()), lr=1e-3)
    noise = Noise(4)
    for it in range(n_iter):
        optD.zero_grad()
        real_out, _ = FE(torch.rand(4, 8))
        bce(real_out, torch.ones(4, 1)).backward()
        z, idx = noise.sample()
        fake = G(z)
        fake_out, _ = FE(fake.detach())
        bce(fake_out, torch.zeros(4, 1)).backward()
        optD.step()

        optG.zero_grad()
        out, q = FE(fake)
        reconstruct = bce(out, torch.ones(4, 1))
        dis = ce(q, idx)
        reconstruct.backward()
        dis.backward()  # error: [double-backward] # raises: RuntimeError "second time"
        optG.step()


if __name__ == "__main__":
    main()
