import torch
from torch import nn


class ResidualBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(channels)
        self.prelu = nn.PReLU()
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        residual = self.prelu(self.bn1(self.conv1(x)))
        return x + self.bn2(self.conv2(residual))


class Generator(nn.Module):
    def __init__(self, scale, width=4):
        super().__init__()
        self.head = nn.Conv2d(3, width, 3, padding=1)
        self.body = nn.Sequential(ResidualBlock(width), ResidualBlock(width))
        self.tail = nn.Sequential(nn.Conv2d(width, 3 * scale**2, 3, padding=1), nn.PixelShuffle(scale))

    def forward(self, x):
        x = self.head(x)
        return (torch.tanh(self.tail(x + self.body(x))) + 1) / 2
