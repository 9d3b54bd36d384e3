import torch
from torch import nn


class Recon(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(1, 4, 3, padding=1)
        self.up = nn.Conv2d(4, 1, 3, padding=1)

    def forward(self, x):
        f = torch.relu(self.down(x))
        return self.up(f), f


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(4 * 36, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1), nn.Sigmoid())

    def forward(self, x):
        return self.net(x)
