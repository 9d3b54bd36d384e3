import torch
import torch.nn.functional as F
from torch import nn


class InfiniAttention(nn.Module):
    def __init__(self, dim, heads=2, segment_len=4):
        super().__init__()
        self.heads = heads
        self.head_dim = dim // heads
        self.segment_len = segment_len
        self.q_proj = nn.Linear(dim, dim, bias=False)
        self.k_proj = nn.Linear(dim, dim, bias=False)
        self.v_proj = nn.Linear(dim, dim, bias=False)
        self.o_proj = nn.Linear(dim, dim, bias=False)
        self.gate = nn.Parameter(torch.zeros(1, heads, 1, 1))
        self.M = None
        self.z = None

    def _split(self, t):
        b, n, _ = t.shape
        return t.view(b, n, self.heads, self.head_dim).transpose(1, 2)

    def _retrieve(self, q):
        if self.M is None:
            return torch.zeros_like(q)
        sigma_q = F.elu(q) + 1
        return (sigma_q @ self.M) / (sigma_q @ self.z.transpose(-2, -1) + 1e-6)

    def _update_memory(self, k, v):
        sigma_k = F.elu(k) + 1
        update = sigma_k.transpose(-2, -1) @ v
        norm = sigma_k.sum(dim=-2, keepdim=True)
        if self.M is None:
            self.M, self.z = update, norm
        else:
            self.M = self.M + update
            self.z = self.z + norm
        self.M, self.z = self.M.detach(), self.z.detach()

    def forward(self, x):
        q, k, v = self._split(self.q_proj(x)), self._split(self.k_proj(x)), self._split(self.v_proj(x))
        memory_out = self._retrieve(q)
        self._update_memory(k, v)
        local = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        g = torch.sigmoid(self.gate)
        out = g * memory_out + (1 - g) * local
        b, h, n, d = out.shape
        return self.o_proj(out.transpose(1, 2).reshape(b, n, h * d))


def train(model, head, data, optimizer, gradient_accumulation_steps=2):
    model.train()
    for step, segment in enumerate(data):
        hidden = model(segment)
        logits = head(hidden)
        loss = F.cross_entropy(logits.flatten(0, 1), torch.randint(0, 11, (logits.shape[0] * logits.shape[1],)))
        loss = loss / gradient_accumulation_steps
        loss.backward()
        if (step + 1) % gradient_accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    attn = InfiniAttention(8)
    lm_head = nn.Linear(8, 11)
    opt = torch.optim.AdamW([*attn.parameters(), *lm_head.parameters()], lr=1e-4)
    segments = torch.randn(2, 16, 8).split(4, dim=1)
    train(attn, lm_head, segments, opt)
