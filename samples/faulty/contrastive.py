"""Contrastive learning in the manner of SimCLR: two noisy views of each example attract."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class PairDataset(Dataset):
    def __init__(self, size=64, dim=16):
        self.x = torch.randn(size, dim)

    def __len__(self):
        return len(self.x)

    def augment(self, x):
        return x * (torch.rand_like(x) > 0.1) + 0.1 * torch.randn_like(x)

    def __getitem__(self, i):
        return self.augment(self.x[i]), self.augment(self.x[i])


class Encoder(nn.Module):
    def __init__(self, dim=16, hidden=32, out=8):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU())
        self.projector = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, out))

    def forward(self, x):
        return F.normalize(self.projector(self.backbone(x)), dim=1)


def nt_xent(z1, z2, temperature):
    n = z1.size(0)
    z = torch.cat([z1, z2])
    sim = z @ z.t() / temperature
    sim = sim.masked_fill(torch.eye(2 * n, dtype=torch.bool), float("-inf"))
    targets = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, targets)


class AverageMeter:
    def __init__(self):
        self.sum = 0.0
        self.count = 0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


def train_step(model, views, optimizer, temperatures):
    z1, z2 = model(views[0]), model(views[1])
    losses = [nt_xent(z1, z2, t).item() for t in temperatures]
    loss = sum(losses) / len(losses)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def main():
    torch.manual_seed(11)
    loader = DataLoader(PairDataset(), batch_size=16, shuffle=True, drop_last=True)
    model = Encoder()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(2):
        meter = AverageMeter()
        for views in loader:
            loss = train_step(model, views, optimizer, temperatures=(0.1, 0.5))
            meter.update(loss, views[0].size(0))
        print(f"epoch {epoch}: loss {meter.avg:.4f}")


if __name__ == "__main__":
    main()
