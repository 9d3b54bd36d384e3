"""A validation without no_grad that feeds a meter."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class AverageMeter(object):
    def __init__(self):
        self.reset()

    def reset(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n  # warning: [live-accumulator]
        self.count += n
        self.avg = self.sum / self.count


def train(train_loader, model, optimizer, epoch):
    main_loss_meter = AverageMeter()
    model.train()
    for i, (input, target) in enumerate(train_loader):
        output = model(input)
        loss = F.cross_entropy(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        main_loss_meter.update(loss.item(), input.size(0))
    return main_loss_meter.avg


def validate(val_loader, model, criterion):
    loss_meter = AverageMeter()
    model.eval()
    for i, (input, target) in enumerate(val_loader):
        output = model(input)
        loss = criterion(output, target)
        loss_meter.update(loss, input.size(0))
    return loss_meter.avg


def main():
    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    data = [(torch.randn(3, 5), torch.randint(0, 4, (3,))) for _ in range(3)]
    for epoch in range(2):
        loss_train = train(data, model, optimizer, epoch)
        loss_val = validate(data, model, nn.CrossEntropyLoss())
        print(epoch, loss_train, float(loss_val))
    return loss_val


val = main()

# torch: val.requires_grad
