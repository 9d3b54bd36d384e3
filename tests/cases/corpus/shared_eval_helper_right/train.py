import torch
from engine.evaluation import evaluate
from engine.forward import forward_batch
from models.unet1d import UNet1d
from torch.utils.data import DataLoader, TensorDataset


def train_epoch(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for batch in loader:
        loss, _ = forward_batch(model, batch, criterion)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def make_signals(n, length=16):
    t = torch.arange(length) / length
    clean = torch.sin(6.28 * (t + torch.rand(n, 1)))
    return TensorDataset((clean + 0.2 * torch.randn(n, length)).unsqueeze(1), clean.unsqueeze(1))


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(make_signals(24), batch_size=6, shuffle=True)
    val_loader = DataLoader(make_signals(12), batch_size=6)
    model = UNet1d(channels=4)
    criterion = torch.nn.SmoothL1Loss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    best = float("inf")
    for epoch in range(2):
        train_loss = train_epoch(model, train_loader, criterion, optimizer)
        val_loss = evaluate(model, val_loader, criterion)
        if val_loss < best:
            best = val_loss
        print(f"epoch {epoch}: train {train_loss:.4f}, val {val_loss:.4f}, best {best:.4f}")


if __name__ == "__main__":
    main()
