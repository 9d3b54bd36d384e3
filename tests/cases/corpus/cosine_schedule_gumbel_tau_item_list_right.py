import torch
from torch import nn
import torch.nn.functional as F


class Router(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.gate = nn.Linear(d, n)
        self.register_buffer("load", torch.zeros(n))

    def forward(self, x, tau):
        w = F.gumbel_softmax(self.gate(x), tau=tau, hard=True)
        self.load += w.detach().sum(0)
        return w

    def balance_loss(self):
        p = self.load / self.load.sum()
        return (p * (p + 1e-8).log()).sum()


router, experts = Router(4, 3), nn.ModuleList(nn.Linear(4, 2) for _ in range(3))
opt = torch.optim.Adam([*router.parameters(), *experts.parameters()])
for step in range(3):
    x, y = torch.randn(6, 4), torch.randint(0, 2, (6,))
    w = router(x, tau=max(0.5, 1.0 - 0.1 * step))
    out = sum(w[:, i : i + 1] * e(x) for i, e in enumerate(experts))
    loss = F.cross_entropy(out, y) + 0.01 * router.balance_loss()
    opt.zero_grad()
    loss.backward()
    opt.step()
