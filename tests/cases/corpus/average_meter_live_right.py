import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class AverageMeter(object):
    """Computes and stores the average and current value"""

    def __init__(self, name, fmt=":f"):
        self.name = name
        self.fmt = fmt
        self.reset()

    def reset(self):
        self.val = 0
        self.avg = 0
        self.sum = 0
        self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count

    def __str__(self):
        fmtstr = "{name} {val" + self.fmt + "} ({avg" + self.fmt + "})"
        return fmtstr.format(name=self.name, val=float(self.val), avg=float(self.avg))


def accuracy(output, target, topk=(1,)):
    """Computes the accuracy over the k top predictions"""
    with torch.no_grad():
        _, pred = output.topk(max(topk), 1, True, True)
        correct = pred.t().eq(target.view(1, -1))
        return [correct[:k].flatten().float().sum().mul_(100.0 / target.size(0)).item() for k in topk]


class ShuffleMixer(nn.Module):
    def __init__(self, channels=6, classes=4):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, stride=2, padding=1)
        self.depthwise = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)
        self.pointwise = nn.Conv2d(channels, channels, 1)
        self.fc = nn.Linear(channels, classes)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = x + self.pointwise(F.gelu(self.depthwise(x)))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def train(train_loader, model, criterion, optimizer, epoch):
    batch_time = AverageMeter("Time", ":6.3f")
    losses = AverageMeter("Loss", ":.4e")
    top1 = AverageMeter("Acc@1", ":6.2f")
    model.train()
    end = time.time()
    for images, target in train_loader:
        output = model(images)
        loss = criterion(output, target)
        (acc1,) = accuracy(output, target)
        losses.update(loss.item(), images.size(0))
        top1.update(acc1, images.size(0))

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        batch_time.update(time.time() - end)
        end = time.time()
    print(f"Epoch: [{epoch}]", batch_time, losses, top1, sep="\t")
    return losses


def main():
    torch.manual_seed(0)
    dataset = TensorDataset(torch.randn(24, 3, 8, 8), torch.randint(0, 4, (24,)))
    loader = DataLoader(dataset, batch_size=6, shuffle=True)
    model = ShuffleMixer()
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    return [train(loader, model, nn.CrossEntropyLoss(), optimizer, epoch) for epoch in range(2)]


if __name__ == "__main__":
    meters = main()

# torch: all(isinstance(meter.sum, float) for meter in meters)
