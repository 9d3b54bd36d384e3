import torch
import torch.nn as nn


class UNet1d(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.enc = nn.Conv1d(1, channels, 3, padding=1)
        self.down = nn.Conv1d(channels, 2 * channels, 4, stride=2, padding=1)
        self.up = nn.ConvTranspose1d(2 * channels, channels, 4, stride=2, padding=1)
        self.dec = nn.Conv1d(2 * channels, 1, 3, padding=1)
        self.act = nn.GELU()

    def forward(self, x):
        skip = self.act(self.enc(x))
        deep = self.act(self.up(self.act(self.down(skip))))
        return self.dec(torch.cat([skip, deep], dim=1))
