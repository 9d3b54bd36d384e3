import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

BASE_DECAY = 1e-3


class Net(nn.Module):
    def __init__(self, features=12, classes=4):
        super().__init__()
        self.fc1 = nn.Linear(features, 24)
        self.fc2 = nn.Linear(24, classes)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


class DecayController:
    """Raises the weight decay while the training loss lies below the validation loss."""

    def __init__(self, optimizer, base=BASE_DECAY, strength=0.5):
        self.optimizer = optimizer
        self.base = base
        self.strength = strength
        self.reference = None

    def set_reference(self, value):
        self.reference = value

    def update(self, train_loss):
        if self.reference is None:
            return
        gap = torch.relu(self.reference - train_loss)
        for group in self.optimizer.param_groups:
            group["weight_decay"] = self.base * (1 + self.strength * gap)  # warning: [live-hyperparameter]


def train_epoch(model, loader, criterion, optimizer, controller):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        controller.update(loss)
    return loss.item()


@torch.no_grad()
def validation_loss(model, loader, criterion):
    model.eval()
    return sum(criterion(model(x), y).item() for x, y in loader) / len(loader)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(TensorDataset(torch.randn(32, 12), torch.randint(0, 4, (32,))), batch_size=8)
    val_loader = DataLoader(TensorDataset(torch.randn(16, 12), torch.randint(0, 4, (16,))), batch_size=8)
    model, criterion = Net(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=BASE_DECAY, foreach=False)
    controller = DecayController(optimizer)
    for epoch in range(3):
        loss = train_epoch(model, train_loader, criterion, optimizer, controller)
        controller.set_reference(validation_loss(model, val_loader, criterion))
        print(epoch, loss, float(optimizer.param_groups[0]["weight_decay"]))
    return optimizer


if __name__ == "__main__":
    optimizer = main()

# torch: optimizer.param_groups[0]["weight_decay"].requires_grad
