import torch
import torch.nn as nn
import torch.nn.functional as F


class Pruner:
    """Keeps the largest weights of each layer."""

    def __init__(self, model, keep=0.5):
        self.model = model
        self.masks = {}
        for name, p in model.named_parameters():
            if p.dim() > 1:
                k = int(p.numel() * keep)
                threshold = p.detach().abs().flatten().kthvalue(p.numel() - k).values
                self.masks[name] = (p.detach().abs() > threshold).float()

    def apply(self):
        for name, p in self.model.named_parameters():
            if name in self.masks:
                p.data.mul_(self.masks[name])  # warning: [data-mutation]


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(6, 12)
        self.l2 = nn.Linear(12, 3)

    def forward(self, x):
        return self.l2(F.relu(self.l1(x)))


torch.manual_seed(0)
model = Mlp()
pruner = Pruner(model)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
versions = []
for step in range(4):
    x, y = torch.randn(10, 6), torch.randint(0, 3, (10,))
    out = model(x)
    loss = F.cross_entropy(out, y)
    seen = model.l2.weight.detach().clone()
    pruner.apply()
    versions.append(torch.equal(seen, model.l2.weight))
    opt.zero_grad()
    loss.backward()
    opt.step()
# torch: not all(versions)
