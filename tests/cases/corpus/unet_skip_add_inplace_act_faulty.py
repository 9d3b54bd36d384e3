import torch
from torch import nn


def act(name):
    return {"relu": nn.ReLU(inplace=True), "lrelu": nn.LeakyReLU(0.2, inplace=True), "tanh": nn.Tanh()}[name]


class Block(nn.Module):
    def __init__(self, c_in, c_out, activation="lrelu", norm=True):
        super().__init__()
        self.conv = nn.Conv2d(c_in, c_out, 3, padding=1)
        self.norm = nn.GroupNorm(2, c_out) if norm else nn.Identity()
        self.act = act(activation)

    def forward(self, x):
        return self.act(self.norm(self.conv(x)))


class Gate(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.theta, self.phi = nn.Conv2d(c, c, 1), nn.Conv2d(c, c, 1)
        self.psi = nn.Sequential(nn.Conv2d(c, 1, 1), nn.Sigmoid())

    def forward(self, x, g):
        a = self.psi(torch.relu(self.theta(x) + self.phi(g)))
        x.mul_(a)  # error: [inplace-on-saved]
        return x


class AttUNet(nn.Module):
    def __init__(self, c=4):
        super().__init__()
        self.e1, self.e2 = Block(1, c), Block(c, 2 * c)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ConvTranspose2d(2 * c, c, 2, 2)
        self.gate = Gate(c)
        self.d1 = Block(2 * c, c, "relu")
        self.out = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        s1 = self.e1(x)
        s2 = self.e2(self.pool(s1))
        up = self.up(s2)
        return self.out(self.d1(torch.cat([self.gate(s1, up), up], 1)))


class DiceBCE(nn.Module):
    def forward(self, logits, y):
        p = logits.sigmoid().flatten(1)
        y = y.flatten(1)
        dice = 1 - (2 * (p * y).sum(1) + 1) / (p.sum(1) + y.sum(1) + 1)
        return dice.mean() + nn.functional.binary_cross_entropy(p, y)


def train(net, batches, criterion, lr):
    opt = torch.optim.RMSprop(net.parameters(), lr=lr, weight_decay=1e-8, momentum=0.9)
    for x, y in batches:
        loss = criterion(net(x), y)
        opt.zero_grad(set_to_none=True)
        loss.backward()  # raises: RuntimeError "modified by an inplace"
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()


train(AttUNet(), [(torch.rand(2, 1, 8, 8), (torch.rand(2, 1, 8, 8) > 0.5).float()) for _ in range(2)], DiceBCE(), 1e-5)
