import torch
import torch.nn.functional as F
from torch import nn


class LearnedPositions(nn.Module):
    def __init__(self, dim, max_len=32):
        super().__init__()
        self.freq = nn.Parameter(torch.randn(dim // 2))
        self.max_len = max_len
        self._cache = {}

    def forward(self, length):
        if length not in self._cache:
            self._cache[length] = torch.arange(length, dtype=torch.float32)
        angles = torch.outer(self._cache[length], self.freq)
        return torch.cat([angles.sin(), angles.cos()], dim=-1)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim)
        self.heads = heads

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.proj(y.transpose(1, 2).reshape(b, n, d))


class CharLM(nn.Module):
    def __init__(self, vocab=16, dim=8, depth=2):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = LearnedPositions(dim)
        self.blocks = nn.ModuleList([Block(dim, 2) for _ in range(depth)])
        self.head = nn.Linear(dim, vocab, bias=False)

    def forward(self, idx, targets=None):
        x = self.tok(idx) + self.pos(idx.size(1))
        for block in self.blocks:
            x = block(x)
        logits = self.head(x)
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss


def get_batch(data, block_size=6, batch_size=3):
    ix = torch.randint(len(data) - block_size, (batch_size,))
    x = torch.stack([data[i : i + block_size] for i in ix])
    y = torch.stack([data[i + 1 : i + 1 + block_size] for i in ix])
    return x, y


data = torch.randint(0, 16, (200,))
model = CharLM()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for it in range(3):
    xb, yb = get_batch(data)
    _, loss = model(xb, yb)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
