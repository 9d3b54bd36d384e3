"""Losses at several scales are gathered in a list: where the list is born decides."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class PyramidNet(nn.Module):
    def __init__(self, width=5):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.out = nn.ModuleList(nn.Conv2d(width, 1, 1) for _ in range(2))

    def forward(self, x):
        fine = F.relu(self.conv1(x))
        coarse = F.relu(self.conv2(F.avg_pool2d(fine, 2)))
        return [self.out[0](fine), self.out[1](coarse)]


def pyramid(target, levels):
    targets = [target]
    for _ in range(levels - 1):
        targets.append(F.avg_pool2d(targets[-1], 2))
    return targets


def fit(model, loader, optimizer, criterion, epochs):
    for epoch in range(epochs):
        total = 0.0
        losses = []
        for image, target in loader:
            outputs = model(image)
            for output, scaled in zip(outputs, pyramid(target, len(outputs))):
                losses.append(criterion(output, scaled))
            loss = torch.stack(losses).mean()
            optimizer.zero_grad()
            loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: {total / len(loader):.4f}")


@torch.no_grad()
def predictions(model, loader):
    model.eval()
    collected = []
    for image, _ in loader:
        collected.append(model(image)[0])
    return torch.cat(collected)


def main():
    torch.manual_seed(0)
    image = torch.rand(12, 1, 8, 8)
    loader = DataLoader(TensorDataset(image, image.flip(-1)), batch_size=4)
    model = PyramidNet()
    fit(model, loader, torch.optim.Adam(model.parameters(), lr=1e-2), nn.L1Loss(), epochs=2)
    print(predictions(model, loader).shape)


if __name__ == "__main__":
    main()
