"""Mixed-precision training with a gradient scaler: squeeze-and-excitation network on random images."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class SqueezeExcite(nn.Module):
    def __init__(self, channels, reduction=2):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Sequential(
            nn.Linear(channels, channels // reduction),
            nn.ReLU(inplace=True),
            nn.Linear(channels // reduction, channels),
            nn.Sigmoid(),
        )

    def forward(self, x):
        b, c, _, _ = x.shape
        scale = self.fc(self.pool(x).view(b, c)).view(b, c, 1, 1)
        x *= scale
        return x


class Block(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(out_channels)
        self.act = nn.ReLU(inplace=True)
        self.se = SqueezeExcite(out_channels)

    def forward(self, x):
        return self.se(self.act(self.bn(self.conv(x))))


class SENet(nn.Module):
    def __init__(self, num_classes=3):
        super().__init__()
        self.stem = Block(3, 8)
        self.stage = Block(8, 16)
        self.head = nn.Linear(16, num_classes)

    def forward(self, x):
        x = self.stage(self.stem(x))
        return self.head(x.mean(dim=(2, 3)))


def train_epoch(model, loader, criterion, optimizer, scaler, device):
    model.train()
    total = 0.0
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device_type=device, dtype=torch.bfloat16):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        total += loss.item()
    return total / len(loader)


def main():
    torch.manual_seed(0)
    device = "cpu"
    dataset = TensorDataset(torch.randn(32, 3, 8, 8), torch.randint(0, 3, (32,)))
    loader = DataLoader(dataset, batch_size=8, shuffle=True)
    model = SENet().to(device)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler(device)
    for epoch in range(2):
        print(f"epoch {epoch}: loss {train_epoch(model, loader, criterion, optimizer, scaler, device):.4f}")


if __name__ == "__main__":
    main()
