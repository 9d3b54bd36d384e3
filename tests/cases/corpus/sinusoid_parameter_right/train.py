import torch
import torch.nn as nn
from models import build_model
from torch.utils.data import DataLoader, TensorDataset


def train(model, loader, optimizer, criterion, clip=1.0):
    model.train()
    total = 0.0
    for tokens, target in loader:
        optimizer.zero_grad()
        loss = criterion(model(tokens).flatten(0, 1), target.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def copy_task(n=32, length=8, vocab=10):
    tokens = torch.randint(0, vocab, (n, length))
    return TensorDataset(tokens, tokens.roll(1, dims=1))


def main():
    torch.manual_seed(0)
    model = build_model({"vocab": 10, "dim": 16, "heads": 2, "layers": 1, "max_len": 12})
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = DataLoader(copy_task(), batch_size=8, shuffle=True)
    for epoch in range(2):
        print(epoch, train(model, loader, optimizer, nn.CrossEntropyLoss()))


if __name__ == "__main__":
    main()
