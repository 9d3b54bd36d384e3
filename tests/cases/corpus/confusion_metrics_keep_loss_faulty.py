import math
from collections import OrderedDict

import torch
from torch import nn


class SmoothedValue:
    def __init__(self, window=20):
        self.values = []
        self.total, self.count, self.window = 0.0, 0, window

    def update(self, value, n=1):
        self.values.append(value)
        self.values = self.values[-self.window :]
        self.count += n
        self.total += value * n  # warning: [live-accumulator]

    @property
    def global_avg(self):
        return float(self.total / self.count)


class MetricLogger:
    def __init__(self):
        self.meters = OrderedDict()

    def update(self, **kwargs):
        for k, v in kwargs.items():
            self.meters.setdefault(k, SmoothedValue()).update(v)

    def log_every(self, iterable, every):
        for i, obj in enumerate(iterable):
            yield obj
            if i % every == 0:
                print(i, {k: round(m.global_avg, 3) for k, m in self.meters.items()})


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(4, 8)
        self.cls, self.box = nn.Linear(8, 2), nn.Linear(8, 4)

    def forward(self, images, targets):
        h = torch.relu(self.backbone(images))
        return {
            "loss_classifier": nn.functional.cross_entropy(self.cls(h), targets["labels"]),
            "loss_box_reg": nn.functional.smooth_l1_loss(self.box(h), targets["boxes"]),
        }


def train_one_epoch(model, optimizer, loader, epoch, print_freq):
    model.train()
    logger = MetricLogger()
    for images, targets in logger.log_every(loader, print_freq):
        loss_dict = model(images, targets)
        losses = sum(loss for loss in loss_dict.values())
        if not math.isfinite(losses.item()):
            raise SystemExit(1)
        optimizer.zero_grad()
        losses.backward()
        optimizer.step()
        logger.update(loss=losses, **loss_dict)
    return logger


def batches(n):
    return [(torch.rand(3, 4), {"labels": torch.randint(0, 2, (3,)), "boxes": torch.rand(3, 4)}) for _ in range(n)]


model = Detector()
result = train_one_epoch(model, torch.optim.SGD(model.parameters(), lr=0.005), batches(4), 0, 2)
# torch: result.meters["loss"].total.grad_fn is not None
