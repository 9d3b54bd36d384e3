"""Segmentation on noise, trained on an exponentially smoothed loss."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class TinyUNet(nn.Module):
    def __init__(self, classes=2):
        super().__init__()
        self.down1 = self._block(1, 4)
        self.down2 = self._block(4, 8)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.fuse = self._block(8, 4)
        self.head = nn.Conv2d(4, classes, 1)

    @staticmethod
    def _block(cin, cout):
        return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))

    def forward(self, x):
        skip = self.down1(x)
        deep = self.down2(F.max_pool2d(skip, 2))
        return self.head(self.fuse(torch.cat([skip, self.up(deep)], dim=1)))


class SmoothedLoss:
    def __init__(self, criterion, beta=0.8):
        self.criterion = criterion
        self.beta = beta
        self.value = None

    def __call__(self, logits, masks):
        current = self.criterion(logits, masks)
        if self.value is None:
            self.value = current
        else:
            self.value = self.beta * self.value.detach() + (1 - self.beta) * current
        return self.value


def train_fn(loader, model, optimizer, loss_fn):
    loop_loss = 0.0
    for data, targets in loader:
        predictions = model(data)
        loss = loss_fn(predictions, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loop_loss += loss.item()
    return loop_loss / len(loader)


def main():
    torch.manual_seed(0)
    images = torch.rand(12, 1, 8, 8)
    masks = (images.squeeze(1) > 0.5).long()
    loader = DataLoader(TensorDataset(images, masks), batch_size=4, shuffle=True)
    model = TinyUNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss_fn = SmoothedLoss(nn.CrossEntropyLoss())
    for epoch in range(2):
        print(f"epoch {epoch}: {train_fn(loader, model, optimizer, loss_fn):.4f}")


if __name__ == "__main__":
    main()
