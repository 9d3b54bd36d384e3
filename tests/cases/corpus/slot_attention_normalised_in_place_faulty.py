import torch
from torch import nn


class SlotAttention(nn.Module):
    def __init__(self, slots, dim, iters=3, eps=1e-8):
        super().__init__()
        self.n, self.iters, self.eps, self.scale = slots, iters, eps, dim ** -0.5
        self.mu = nn.Parameter(torch.randn(1, 1, dim))
        self.sigma = nn.Parameter(torch.rand(1, 1, dim))
        self.to_q, self.to_k, self.to_v = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.gru = nn.GRUCell(dim, dim)
        self.norm_in, self.norm_slots = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, x):
        b, n, d = x.shape
        slots = self.mu + self.sigma * torch.randn(b, self.n, d)
        x = self.norm_in(x)
        k, v = self.to_k(x), self.to_v(x)
        for _ in range(self.iters):
            prev = slots
            q = self.to_q(self.norm_slots(slots))
            attn = (torch.einsum("bid,bjd->bij", q, k) * self.scale).softmax(dim=1)
            attn += self.eps  # error: [inplace-on-saved]
            attn = attn / attn.sum(dim=-1, keepdim=True)
            updates = torch.einsum("bjd,bij->bid", v, attn)
            slots = self.gru(updates.reshape(-1, d), prev.reshape(-1, d)).view(b, -1, d)
        return slots


class AutoEncoder(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.enc, self.slots, self.dec = nn.Linear(5, dim), SlotAttention(3, dim), nn.Linear(dim, 5 * 6)

    def forward(self, x):
        s = self.slots(self.enc(x))
        return self.dec(s).view(len(x), 3, 6, 5).mean(1)


torch.manual_seed(0)
model = AutoEncoder()
opt = torch.optim.Adam(model.parameters(), lr=4e-4)
for step in range(2):
    x = torch.randn(2, 6, 5)
    loss = nn.functional.mse_loss(model(x), x)
    opt.zero_grad()
    loss.backward()  # raises: RuntimeError
    opt.step()
