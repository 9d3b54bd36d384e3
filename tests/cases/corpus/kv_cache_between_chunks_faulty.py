import torch
import torch.nn.functional as F
from torch import nn


class CachedAttention(nn.Module):
    def __init__(self, dim, heads=2):
        super().__init__()
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.heads = heads
        self.cache = None

    def forward(self, x, use_cache=False):
        b, n, d = x.shape
        q, k, v = [t.view(b, n, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1)]
        if use_cache:
            if self.cache is not None:
                k, v = torch.cat([self.cache[0], k], 2), torch.cat([self.cache[1], v], 2)
            self.cache = (k, v)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.proj(y.transpose(1, 2).reshape(b, n, d))


class Decoder(nn.Module):
    def __init__(self, vocab=10, dim=8):
        super().__init__()
        self.emb, self.attn, self.head = nn.Embedding(vocab, dim), CachedAttention(dim), nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.attn(self.emb(ids), use_cache=True))

    def clear(self):
        self.attn.cache = None


def train_document(model, optimizer, ids, chunk):
    model.clear()
    for i in range(0, ids.size(1) - chunk, chunk):
        logits = model(ids[:, i : i + chunk])
        loss = F.cross_entropy(logits.transpose(1, 2), ids[:, i + 1 : i + chunk + 1])
        optimizer.zero_grad()
        loss.backward()  # error: [carried-graph] # raises: RuntimeError "second time"
        optimizer.step()


model = Decoder()
train_document(model, torch.optim.Adam(model.parameters()), torch.randint(0, 10, (2, 13)), 4)
