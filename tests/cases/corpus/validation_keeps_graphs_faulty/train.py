import torch
from torch import nn

from evaluation import evaluate


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train = [(torch.randn(5, 4), torch.randint(0, 3, (5,))) for _ in range(3)]
    val = [(torch.randn(5, 4), torch.randint(0, 3, (5,))) for _ in range(3)]
    for epoch in range(2):
        model.train()
        for x, y in train:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
        losses, acc = evaluate(model, val, criterion)
        print(epoch, sum(l.item() for l in losses) / len(losses), acc)
    return losses


losses = main()
# torch: losses[0].requires_grad
