"""A tiny transformer whose relative position bias is computed once and cached on the module."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class RelativePositionBias(nn.Module):
    """Continuous position bias: a small MLP over log-spaced distances (as in Swin v2)."""

    def __init__(self, num_heads, hidden=16):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(1, hidden), nn.ReLU(), nn.Linear(hidden, num_heads))
        self._cache = None

    def forward(self, length):
        if self._cache is None or self._cache.size(-1) != length:
            self._cache = self.compute(length)
        return self._cache

    def compute(self, length):
        position = torch.arange(length, dtype=torch.float32)
        distance = position[None, :] - position[:, None]
        distance = torch.sign(distance) * torch.log1p(distance.abs())
        return self.mlp(distance.unsqueeze(-1)).permute(2, 0, 1)


class Attention(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(dim, dim * 3)
        self.proj = nn.Linear(dim, dim)
        self.bias = RelativePositionBias(num_heads)

    def forward(self, x):
        b, n, d = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, self.num_heads, d // self.num_heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        attn = q @ k.transpose(-2, -1) * (d // self.num_heads) ** -0.5
        attn = (attn + self.bias(n)).softmax(dim=-1)
        return self.proj((attn @ v).transpose(1, 2).reshape(b, n, d))


class TinyTransformer(nn.Module):
    def __init__(self, vocab=20, dim=16, num_heads=2, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.norm = nn.LayerNorm(dim)
        self.attention = Attention(dim, num_heads)
        self.head = nn.Linear(dim, classes)

    def forward(self, tokens):
        x = self.embed(tokens)
        x = x + self.attention(self.norm(x))
        return self.head(x.mean(dim=1))


def train(model, loader, optimizer):
    model.train()
    for step, (tokens, labels) in enumerate(loader):
        loss = F.cross_entropy(model(tokens), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: loss {loss.item():.4f}")


def main():
    torch.manual_seed(0)
    dataset = TensorDataset(torch.randint(0, 20, (48, 10)), torch.randint(0, 3, (48,)))
    loader = DataLoader(dataset, batch_size=12, shuffle=True)
    model = TinyTransformer()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    train(model, loader, optimizer)


if __name__ == "__main__":
    main()
