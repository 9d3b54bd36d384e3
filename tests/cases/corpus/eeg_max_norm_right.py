"""EEGNet in miniature: layers whose weights are held to a largest norm."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Conv2dWithConstraint(nn.Conv2d):
    def __init__(self, *args, max_norm=1.0, **kwargs):
        self.max_norm = max_norm
        super().__init__(*args, **kwargs)

    def forward(self, x):
        self.weight.data = torch.renorm(self.weight.data, p=2, dim=0, maxnorm=self.max_norm)
        return super().forward(x)


class LinearWithConstraint(nn.Linear):
    def __init__(self, *args, max_norm=0.25, **kwargs):
        self.max_norm = max_norm
        super().__init__(*args, **kwargs)

    def forward(self, x):
        self.weight.data = torch.renorm(self.weight.data, p=2, dim=0, maxnorm=self.max_norm)
        return super().forward(x)


class EEGNet(nn.Module):
    def __init__(self, channels=4, samples=16, classes=2, F1=3, D=2):
        super().__init__()
        self.temporal = nn.Conv2d(1, F1, (1, 5), padding=(0, 2), bias=False)
        self.bn1 = nn.BatchNorm2d(F1)
        self.spatial = Conv2dWithConstraint(F1, F1 * D, (channels, 1), groups=F1, bias=False, max_norm=1.0)
        self.bn2 = nn.BatchNorm2d(F1 * D)
        self.pool = nn.AvgPool2d((1, 4))
        self.fc = LinearWithConstraint(F1 * D * (samples // 4), classes)

    def forward(self, x):
        x = self.bn1(self.temporal(x.unsqueeze(1)))
        x = F.elu(self.bn2(self.spatial(x)))
        return self.fc(self.pool(x).flatten(1))


def train(net, loader, optimizer, criterion, epochs):
    for epoch in range(epochs):
        net.train()
        correct = 0
        for x, y in loader:
            optimizer.zero_grad()
            out = net(x)
            loss = criterion(out, y)
            loss.backward()
            optimizer.step()
            correct += (out.argmax(1) == y).sum().item()
        print(f"epoch {epoch}: accuracy {correct / len(loader.dataset):.2f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(24, 4, 16), torch.randint(0, 2, (24,))), batch_size=8)
    net = EEGNet()
    train(net, loader, torch.optim.Adam(net.parameters(), lr=1e-3), nn.CrossEntropyLoss(), epochs=2)
