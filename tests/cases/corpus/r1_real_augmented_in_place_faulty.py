import torch
from torch import autograd, nn
import torch.nn.functional as F


class D(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.fc = nn.Linear(4 * 16, 1)

    def forward(self, x):
        return self.fc(F.leaky_relu(self.conv(x), 0.2).flatten(1))


def brightness(x):
    x += torch.rand(x.size(0), 1, 1, 1) - 0.5  # error: [inplace-on-leaf] # raises: RuntimeError
    return x


def cutout(x, ratio=0.5):
    mask = torch.ones_like(x)
    k = int(x.size(2) * ratio)
    mask[:, :, :k, :k] = 0
    return x * mask


AUGMENT = {"color": [brightness], "cutout": [cutout]}


def diff_augment(x, policy):
    for p in policy.split(","):
        for f in AUGMENT[p]:
            x = f(x)
    return x


def d_r1_loss(pred, real):
    (grad,) = autograd.grad(pred.sum(), real, create_graph=True)
    return grad.pow(2).reshape(len(grad), -1).sum(1).mean()


def train(disc, gen, steps, every=2):
    opt = torch.optim.Adam(disc.parameters(), lr=2e-3, betas=(0.0, 0.99))
    for i in range(steps):
        real = torch.rand(3, 1, 4, 4)
        with torch.no_grad():
            fake = gen(torch.randn(3, 5)).view(3, 1, 4, 4)
        loss = F.softplus(disc(diff_augment(fake, "color,cutout"))).mean() + F.softplus(-disc(diff_augment(real, "cutout"))).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if i % every == 0:
            real.requires_grad = True
            r1 = d_r1_loss(disc(diff_augment(real, "color,cutout")), real)
            opt.zero_grad()
            (5 * every * r1).backward()
            opt.step()


torch.manual_seed(0)
train(D(), nn.Linear(5, 16), 4)
