import torch
from torch import nn


def evaluate(model, batches, criterion):
    model.eval()
    torch.set_grad_enabled(False)
    total = 0.0
    try:
        for x, y in batches:
            if x.shape[0] == 0:
                continue
            total += criterion(model(x), y).item()
        return total / len(batches)
    finally:
        model.train()


def train_one_epoch(model, batches, criterion, optimizer):
    for x, y in batches:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()  # error: [detached-loss] # raises: RuntimeError "does not require grad"
        optimizer.step()


model = nn.Sequential(nn.Flatten(), nn.Linear(12, 3))
batches = [(torch.randn(4, 3, 4), torch.randint(0, 3, (4,))) for _ in range(2)]
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    train_one_epoch(model, batches, criterion, optimizer)
    print("val", evaluate(model, batches, criterion))
