"""A learning rate that follows the loss: large while the model is bad, small when it is good."""

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

BASE_LR = 0.05
MAX_LR = 0.2


class Autoencoder(nn.Module):
    def __init__(self, dim=20, code=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 12), nn.Tanh(), nn.Linear(12, code))
        self.decoder = nn.Sequential(nn.Linear(code, 12), nn.Tanh(), nn.Linear(12, dim))

    def forward(self, x):
        return self.decoder(self.encoder(x))


def adjust_learning_rate(optimizer, loss):
    """lr = BASE_LR * loss, but at most MAX_LR."""
    lr = torch.clamp(BASE_LR * loss, max=MAX_LR)
    for param_group in optimizer.param_groups:
        param_group["lr"] = lr


def run_epoch(model, loader, criterion, optimizer):
    model.train()
    epoch_loss = 0.0
    for (batch,) in loader:
        reconstruction = model(batch)
        loss = criterion(reconstruction, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        adjust_learning_rate(optimizer, loss)
        epoch_loss += loss.item()
    return epoch_loss / len(loader)


def main():
    torch.manual_seed(5)
    basis = torch.randn(4, 20)
    data = torch.randn(96, 4) @ basis
    loader = DataLoader(TensorDataset(data), batch_size=16, shuffle=True)
    model = Autoencoder()
    criterion = nn.MSELoss()
    optimizer = optim.SGD(model.parameters(), lr=BASE_LR)
    for epoch in range(3):
        loss = run_epoch(model, loader, criterion, optimizer)
        print(f"epoch {epoch}: loss {loss:.4f}, lr {float(optimizer.param_groups[0]['lr']):.4f}")
    return optimizer


if __name__ == "__main__":
    trained = main()

# The learning rate hangs on the last batch's graph, and every checkpoint of the optimizer would, too.
