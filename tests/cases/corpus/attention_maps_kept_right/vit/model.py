import torch
from torch import nn

from .attention import Attention


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.n1, self.attn = nn.LayerNorm(dim), Attention(dim, record=True)
        self.n2, self.mlp = nn.LayerNorm(dim), nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.n1(x))
        return x + self.mlp(self.n2(x))


class ViT(nn.Module):
    def __init__(self, patches=4, dim=8, depth=2, classes=3):
        super().__init__()
        self.embed = nn.Linear(5, dim)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.randn(1, patches + 1, dim) * 0.02)
        self.blocks = nn.Sequential(*[Block(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.embed(x)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], dim=1) + self.pos
        return self.head(self.blocks(x)[:, 0])
