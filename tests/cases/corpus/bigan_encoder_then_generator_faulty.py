"""Bidirectional GAN: an encoder, a generator and a critic of pairs."""
import itertools
import torch
import torch.nn as nn


class Pairs(nn.Module):
    def __init__(self, dx, dz):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dx + dz, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def forward(self, x, z):
        return self.net(torch.cat((x, z), 1))


def weights_init(m):
    if type(m) == nn.Linear:
        nn.init.xavier_normal_(m.weight)
        m.bias.data.zero_()


dx, dz = 6, 3
E_, G_, D_ = nn.Linear(dx, dz), nn.Linear(dz, dx), Pairs(dx, dz)
for net in (E_, G_, D_):
    net.apply(weights_init)
optGE = torch.optim.Adam(itertools.chain(E_.parameters(), G_.parameters()), lr=1e-3)
optD = torch.optim.Adam(D_.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()


def iteration(real):
    ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
    z = torch.randn(len(real), dz)
    fake = G_(z)
    code = E_(real)
    d_real = D_(real, code)
    d_fake = D_(fake, z)
    loss_d = bce(d_real, ones) + bce(d_fake, zeros)
    loss_ge = bce(d_real, zeros) + bce(d_fake, ones)
    optD.zero_grad()
    loss_d.backward(retain_graph=True)
    optD.step()  # error: [parameter-updated-before-backward]
    optGE.zero_grad()
    loss_ge.backward()  # raises: RuntimeError
    optGE.step()
    return loss_d.item(), loss_ge.item()


if __name__ == "__main__":
    for epoch in range(2):
        for _ in range(2):
            d, ge = iteration(torch.randn(8, dx))
        print("%d D %.3f GE %.3f" % (epoch, d, ge))
