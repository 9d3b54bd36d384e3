import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class ConvClassifier(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.conv = nn.Conv1d(2, 6, 3, padding=1)
        self.bn = nn.BatchNorm1d(6)
        self.fc = nn.Linear(6, classes)

    def forward(self, x):
        x = torch.relu(self.bn(self.conv(x)))
        return self.fc(x.amax(dim=-1))


def validate(val_loader, model, criterion):
    # switch to evaluate mode
    model.eval()
    total, correct = 0.0, 0
    with torch.set_grad_enabled(False):
        for inputs, target in val_loader:
            output = model(inputs)
            total += criterion(output, target).item()
            correct += (output.argmax(1) == target).sum().item()
    return total / len(val_loader), correct / len(val_loader.dataset)


def train(train_loader, model, criterion, optimizer):
    # switch to train mode
    model.train()
    total = 0.0
    for inputs, target in train_loader:
        output = model(inputs)
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(train_loader)


def make_loader(n, shuffle):
    labels = torch.randint(0, 3, (n,))
    signals = torch.randn(n, 2, 12) + labels.view(-1, 1, 1)
    return DataLoader(TensorDataset(signals, labels), batch_size=8, shuffle=shuffle)


train_loader, val_loader = make_loader(32, True), make_loader(16, False)
model = ConvClassifier()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
best_acc = 0.0

for epoch in range(3):
    train_loss = train(train_loader, model, criterion, optimizer)
    val_loss, acc = validate(val_loader, model, criterion)
    best_acc = max(best_acc, acc)
    print(f"epoch {epoch}: train {train_loss:.4f} val {val_loss:.4f} acc {acc:.3f} best {best_acc:.3f}")
