import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)

    def forward(self, x, mask):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        q *= (C // self.heads) ** -0.5  # error: [inplace-on-view] # raises: RuntimeError "modified inplace"
        attn = q @ k.transpose(-2, -1)
        attn = attn.masked_fill(mask[:, None, None, :], float("-inf")).softmax(dim=-1)
        x = (attn @ v).transpose(1, 2).reshape(B, N, C)
        return self.proj(x)


attn = Attention(8, 2)
opt = torch.optim.AdamW(attn.parameters())
for _ in range(2):
    x = torch.randn(2, 5, 8)
    mask = torch.zeros(2, 5, dtype=torch.bool)
    mask[:, -1] = True
    loss = attn(x, mask).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
