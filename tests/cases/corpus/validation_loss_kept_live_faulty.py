import copy

import torch
from torch import nn


class EarlyStopping:
    def __init__(self, patience=3):
        self.patience, self.best, self.bad = patience, float("inf"), 0

    def step(self, value):
        if value < self.best:
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        return self.bad >= self.patience


def run_epoch(model, batches, criterion, optimizer=None):
    train = optimizer is not None
    model.train(train)
    epoch_loss = 0
    for x, y in batches:
        out = model(x)
        loss = criterion(out, y)
        if train:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        epoch_loss += loss * x.size(0)  # warning: [live-accumulator]
    return epoch_loss / (len(batches) * x.size(0))


def main():
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(3, 6), nn.ELU(), nn.Dropout(0.1), nn.Linear(6, 1))
    data = [(torch.rand(4, 3), torch.rand(4, 1)) for _ in range(3)]
    optimizer = torch.optim.Adam(model.parameters())
    stopper, history, best = EarlyStopping(), {"train": [], "val": []}, None
    for epoch in range(2):
        history["train"].append(run_epoch(model, data, nn.L1Loss(), optimizer))
        with torch.no_grad():
            history["val"].append(run_epoch(model, data, nn.L1Loss()))
        if stopper.step(float(history["val"][-1])):
            break
        best = copy.deepcopy(model.state_dict())
    return history


history = main()
# torch: history["train"][0].grad_fn is not None
