import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def loaders():
    x, y = torch.randn(32, 6), torch.randint(0, 3, (32,))
    data = TensorDataset(x, y)
    return DataLoader(data, batch_size=8, shuffle=True), DataLoader(data, batch_size=16)


def evaluate(model, loader, criterion):
    model.eval()
    loss, correct = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            loss += criterion(out, y).item() * len(x)
            correct += (out.argmax(1) == y).sum().item()
    return loss / len(loader.dataset), correct / len(loader.dataset)


def train(model, loader, criterion, optimizer):
    model.train()
    loss_sum, correct = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            loss = criterion(out, y)
            optimizer.zero_grad()
            loss.backward()  # error: [detached-loss] # raises: RuntimeError "does not require grad"
            optimizer.step()
            loss_sum += loss.item() * len(x)
            correct += (out.argmax(1) == y).sum().item()
    return loss_sum / len(loader.dataset), correct / len(loader.dataset)


model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
criterion, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.1)
train_loader, valid_loader = loaders()
for epoch in range(2):
    print(train(model, train_loader, criterion, optimizer), evaluate(model, valid_loader, criterion))
