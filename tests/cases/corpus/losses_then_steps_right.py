import torch
import torch.nn as nn


def chunks(x, y, size):
    return list(zip(x.split(size), y.split(size)))


class MLP(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        mods = []
        for i, o in zip(sizes[:-1], sizes[1:]):
            mods += [nn.Linear(i, o), nn.ReLU()]
        self.seq = nn.Sequential(*mods[:-1])

    def forward(self, x):
        return self.seq(x)


def epoch(model, x, y, optimizer, criterion):
    losses = []
    for a, b in chunks(x, y, 4):
        loss = criterion(model(a), b)
        losses.append(loss.detach())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return torch.stack(losses).mean().item()


torch.manual_seed(0)
model = MLP([3, 8, 8, 2])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(12, 3), torch.randint(0, 2, (12,))
for e in range(2):
    print(e, epoch(model, x, y, optimizer, nn.CrossEntropyLoss()))
