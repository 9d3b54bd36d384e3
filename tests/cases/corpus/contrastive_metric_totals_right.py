"""A contrastive model whose losses are summed by name."""

from collections import defaultdict

import torch
import torch.nn as nn
import torch.nn.functional as F


class ContrastiveModel(nn.Module):
    def __init__(self, dim=8, proj=4, temperature=0.1):
        super().__init__()
        self.image = nn.Linear(dim, proj)
        self.text = nn.Linear(dim, proj)
        self.logit_scale = nn.Parameter(torch.tensor(1 / temperature).log())

    def forward(self, image, text):
        i = F.normalize(self.image(image), dim=-1)
        t = F.normalize(self.text(text), dim=-1)
        logits = self.logit_scale.exp() * i @ t.t()
        labels = torch.arange(len(i))
        return {
            "loss_i": F.cross_entropy(logits, labels),
            "loss_t": F.cross_entropy(logits.t(), labels),
        }


def train_epoch(model, loader, optimizer, scheduler, epoch):
    model.train()
    totals = defaultdict(float)
    for n, batch in enumerate(loader, start=1):
        losses = model(**batch)
        loss = 0.5 * sum(losses.values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        for name, value in losses.items():
            totals[name] += value.item()
    return {name: value / n for name, value in totals.items()}


if __name__ == "__main__":
    model = ContrastiveModel()
    loader = [{"image": torch.randn(6, 8), "text": torch.randn(6, 8)} for _ in range(4)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 8)
    for epoch in range(2):
        metrics = train_epoch(model, loader, optimizer, scheduler, epoch)
        print(epoch, {k: float(v) for k, v in metrics.items()})

# torch: isinstance(metrics["loss_i"], float)
