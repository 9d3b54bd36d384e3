import torch
from torch import nn


class Discriminator(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(width, width, 3, stride=2, padding=1),
            nn.BatchNorm2d(width),
            nn.LeakyReLU(0.2),
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(width, 1, 1),
        )

    def forward(self, x):
        return torch.sigmoid(self.net(x).view(x.size(0)))
