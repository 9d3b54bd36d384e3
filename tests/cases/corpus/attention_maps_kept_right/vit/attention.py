import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, heads=2, record=False):
        super().__init__()
        self.heads = heads
        self.scale = (dim // heads) ** -0.5
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.record = record
        self.maps = []

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        attn = ((q @ k.transpose(-2, -1)) * self.scale).softmax(dim=-1)
        if self.record:
            self.maps.append(attn.detach().cpu())
        return self.proj((attn @ v).transpose(1, 2).reshape(b, n, d))
