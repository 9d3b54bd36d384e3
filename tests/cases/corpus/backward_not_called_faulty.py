import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class TimeSeriesTransformer(nn.Module):
    def __init__(self, channels=2, dim=8, classes=3):
        super().__init__()
        self.project = nn.Linear(channels, dim)
        self.encoder = nn.TransformerEncoderLayer(dim, 2, 16, dropout=0.0, batch_first=True)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        return self.head(self.encoder(self.project(x)).mean(dim=1))


def train(model, device, train_loader, optimizer, epoch):
    model.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        output = model(data)
        loss = F.cross_entropy(output, target)
        loss.backward
        optimizer.step()  # warning: [step-without-backward]
        if batch_idx % 2 == 0:
            print(f"Train Epoch: {epoch} [{batch_idx}/{len(train_loader)}]\tLoss: {loss.item():.6f}")


def test(model, device, test_loader):
    model.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for data, target in test_loader:
            data, target = data.to(device), target.to(device)
            output = model(data)
            test_loss += F.cross_entropy(output, target, reduction="sum").item()
            pred = output.argmax(dim=1, keepdim=True)
            correct += pred.eq(target.view_as(pred)).sum().item()
    return test_loss / len(test_loader.dataset), correct


def main():
    torch.manual_seed(0)
    device = torch.device("cpu")
    labels = torch.randint(0, 3, (36,))
    series = torch.randn(36, 6, 2) + labels.view(-1, 1, 1)
    train_loader = DataLoader(TensorDataset(series[:24], labels[:24]), batch_size=6)
    test_loader = DataLoader(TensorDataset(series[24:], labels[24:]), batch_size=12)
    model = TimeSeriesTransformer().to(device)
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    for epoch in range(1, 3):
        train(model, device, train_loader, optimizer, epoch)
        print("test", test(model, device, test_loader))
        scheduler.step()
    return model


if __name__ == "__main__":
    model = main()

# torch: all(p.grad is None for p in model.parameters())
