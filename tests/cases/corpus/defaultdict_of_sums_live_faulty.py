from collections import defaultdict
import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 16), nn.SiLU())
        self.heads = nn.ModuleDict({"seg": nn.Linear(16, 4), "depth": nn.Linear(16, 1), "normal": nn.Linear(16, 3)})

    def forward(self, x):
        h = self.body(x)
        return {name: head(h) for name, head in self.heads.items()}


LOSSES = {
    "seg": lambda p, t: F.cross_entropy(p, t),
    "depth": lambda p, t: F.l1_loss(p, t),
    "normal": lambda p, t: 1 - F.cosine_similarity(p, t).mean(),
}
WEIGHTS = {"seg": 1.0, "depth": 0.5, "normal": 2.0}


def compute(outputs, targets):
    return {k: WEIGHTS[k] * LOSSES[k](outputs[k], targets[k]) for k in outputs}


def train_one_epoch(model, loader, optimizer):
    sums = defaultdict(float)
    for x, targets in loader:
        losses = compute(model(x), targets)
        total = sum(losses.values())
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        for k, v in losses.items():
            sums[k] += v  # warning: [live-accumulator]
    return {k: v / len(loader) for k, v in sums.items()}


torch.manual_seed(0)
model = MultiTask()
optimizer = torch.optim.AdamW(model.parameters())
loader = [
    (torch.randn(4, 6), {"seg": torch.randint(0, 4, (4,)), "depth": torch.rand(4, 1), "normal": torch.randn(4, 3)})
    for _ in range(4)
]
for epoch in range(2):
    means = train_one_epoch(model, loader, optimizer)
# torch: means["seg"].requires_grad
