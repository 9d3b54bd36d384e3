"""An exponential moving average of the weights, created for evaluation and updated in training."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class EMA:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.shadow = self.snapshot(model)

    @torch.inference_mode()
    def snapshot(self, model):
        return {name: p.clone() for name, p in model.named_parameters()}

    def update(self, model):
        for name, p in model.named_parameters():
            average = self.shadow[name]
            average.mul_(self.decay)  # error: [inference-tensor-saved] # raises: RuntimeError "Inplace update"
            average.add_(p.detach(), alpha=1 - self.decay)

    @torch.no_grad()
    def apply(self, model):
        backup = {name: p.clone() for name, p in model.named_parameters()}
        for name, p in model.named_parameters():
            p.copy_(self.shadow[name])
        return backup


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(7, 14)
        self.fc2 = nn.Linear(14, 3)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


def train_epoch(model, ema, loader, optimizer):
    model.train()
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model)
    return loss.item()


def evaluate_with_ema(model, ema, loader):
    backup = ema.apply(model)
    model.eval()
    with torch.inference_mode():
        correct = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(backup[name])
    return correct / len(loader.dataset)


def main():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(30, 7), torch.randint(0, 3, (30,))), batch_size=10)
    model = Net()
    ema = EMA(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        loss = train_epoch(model, ema, loader, optimizer)
        print(f"epoch {epoch}: {loss:.4f}, ema accuracy {evaluate_with_ema(model, ema, loader):.2f}")


if __name__ == "__main__":
    main()
