from collections import defaultdict

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class KeypointNet(nn.Module):
    def __init__(self, points=4, width=6):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, points, 3, padding=1)
        self.visible = nn.Linear(points, points)

    def forward(self, x):
        heat = self.conv2(F.relu(self.conv1(x)))
        b, p, h, w = heat.shape
        weights = heat.flatten(2).softmax(dim=-1).view(b, p, h, w)
        ys = (weights.sum(dim=3) * torch.linspace(0, 1, h)).sum(dim=-1)
        xs = (weights.sum(dim=2) * torch.linspace(0, 1, w)).sum(dim=-1)
        return torch.stack([xs, ys], dim=-1), self.visible(heat.amax(dim=(2, 3)))


def keypoint_losses(coords, visible, target, mask):
    return {
        "coords": (F.smooth_l1_loss(coords, target, reduction="none").sum(-1) * mask).sum() / mask.sum(),
        "visible": F.binary_cross_entropy_with_logits(visible, mask),
    }


def train_one_epoch(model, data_loader, optimizer, scheduler=None):
    model.train()
    metrics = defaultdict(float)
    for images, target, mask in data_loader:
        losses = keypoint_losses(*model(images), target, mask)
        loss = sum(losses.values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        for name, value in losses.items():
            metrics[name] += value / len(data_loader)  # warning: [live-accumulator]
    return dict(metrics)


def main():
    torch.manual_seed(0)
    images = torch.rand(20, 1, 8, 8)
    dataset = TensorDataset(images, torch.rand(20, 4, 2), (torch.rand(20, 4) > 0.2).float())
    loader = DataLoader(dataset, batch_size=5, shuffle=True)
    model = KeypointNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=2 * len(loader))
    log = []
    for epoch in range(2):
        log.append(train_one_epoch(model, loader, optimizer, scheduler))
        print(epoch, {name: round(float(value), 4) for name, value in log[-1].items()})
    return log


if __name__ == "__main__":
    log = main()

# torch: all(value.grad_fn is not None for row in log for value in row.values())
