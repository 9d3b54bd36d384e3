import torch
from torch import nn


class BinaryGate(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(n))

    def forward(self, x):
        p = torch.sigmoid(self.logits)
        gate = (p + torch.rand_like(p) - 0.5 > 0.5).float()
        return x * gate


gate = BinaryGate(5)
backbone = nn.Linear(5, 2)
for p in backbone.parameters():
    p.requires_grad_(False)
opt = torch.optim.Adam(gate.parameters(), lr=0.1)
for _ in range(2):
    x, y = torch.randn(6, 5), torch.randint(0, 2, (6,))
    loss = nn.functional.cross_entropy(backbone(gate(x)), y)
    opt.zero_grad()
    loss.backward()  # error: [detached-loss] # raises: RuntimeError "does not require grad"
    opt.step()
