"""Click prediction with a weight for every sample."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class WideAndDeep(nn.Module):
    def __init__(self, wide_dim, vocab, embed_dim=6):
        super().__init__()
        self.embed = nn.EmbeddingBag(vocab, embed_dim, mode="mean")
        self.deep = nn.Sequential(nn.Linear(embed_dim, 12), nn.ReLU(), nn.Linear(12, 1))
        self.wide = nn.Linear(wide_dim, 1)

    def forward(self, wide, categories):
        return (self.wide(wide) + self.deep(self.embed(categories))).squeeze(1)


def train(model, train_loader, optimizer, criterion, device):
    model.train()
    seen, total = 0, 0.0
    for wide, categories, clicked, weight in train_loader:
        wide, categories = wide.to(device), categories.to(device)
        clicked, weight = clicked.to(device), weight.to(device)
        optimizer.zero_grad()
        logits = model(wide, categories)
        loss = criterion(logits, clicked) * weight
        loss.backward()  # error: [nonscalar-backward] # raises: RuntimeError "implicitly created only for scalar"
        optimizer.step()
        total += loss.sum().item()
        seen += len(clicked)
    return total / seen


@torch.no_grad()
def log_loss(model, loader, criterion, device):
    model.eval()
    losses = [criterion(model(w.to(device), c.to(device)), y.to(device)) for w, c, y, _ in loader]
    return torch.cat(losses).mean().item()


def make_dataset(n=60, wide_dim=4, vocab=20):
    wide = torch.randn(n, wide_dim)
    categories = torch.randint(0, vocab, (n, 3))
    clicked = (wide[:, 0] + categories[:, 0] / vocab > 0.5).float()
    weight = torch.where(clicked > 0, 2.0, 1.0)
    return TensorDataset(wide, categories, clicked, weight)


def main():
    torch.manual_seed(0)
    device = torch.device("cpu")
    dataset = make_dataset()
    train_loader = DataLoader(dataset, batch_size=12, shuffle=True)
    model = WideAndDeep(wide_dim=4, vocab=20).to(device)
    criterion = nn.BCEWithLogitsLoss(reduction="none")
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    for epoch in range(2):
        loss = train(model, train_loader, optimizer, criterion, device)
        print(f"epoch {epoch}: {loss:.4f}, log loss {log_loss(model, train_loader, criterion, device):.4f}")


if __name__ == "__main__":
    main()
