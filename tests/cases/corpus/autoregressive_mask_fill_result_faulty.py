import torch
from torch import nn


class SegTransformer(nn.Module):
    def __init__(self, d=8, heads=2):
        super().__init__()
        self.inp = nn.Linear(3, d)
        self.attn = nn.MultiheadAttention(d, heads, batch_first=True)
        self.norm = nn.LayerNorm(d)
        self.out = nn.Linear(d, 1)

    def forward(self, x, pad):
        h = self.inp(x)
        a, _ = self.attn(h, h, h, key_padding_mask=pad)
        h = self.norm(h + a)
        score = torch.sigmoid(self.out(h).squeeze(-1))
        score[pad] = 0.0  # error: [inplace-on-saved]
        return score


def collate(rows, longest=5):
    x = torch.zeros(len(rows), longest, 3)
    pad = torch.ones(len(rows), longest, dtype=torch.bool)
    for i, row in enumerate(rows):
        x[i, : len(row)] = row
        pad[i, : len(row)] = False
    return x, pad


class Fit:
    def __init__(self, model, lr=1e-3):
        self.model, self.opt = model, torch.optim.AdamW(model.parameters(), lr)

    def __call__(self, rows):
        x, pad = collate(rows)
        score = self.model(x, pad)
        loss = ((score.sum(1) - 1) ** 2).mean()
        self.opt.zero_grad()
        loss.backward()  # raises: RuntimeError "modified by an inplace"
        self.opt.step()
        return loss.item()


fit = Fit(SegTransformer())
for _ in range(2):
    print(fit([torch.rand(n, 3) for n in (2, 4, 5)]))
