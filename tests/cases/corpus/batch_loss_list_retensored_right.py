import argparse
import torch
import torch.nn as nn
from torch.optim import Adam


class Encoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, dim, batch_first=True)

    def forward(self, tokens):
        out, (h, c) = self.lstm(self.emb(tokens))
        return h[-1]


def contrastive_pair(a, b, margin, same):
    d = torch.norm(a - b, p=2)
    if same:
        return d**2
    return torch.clamp(margin - d, min=0.0) ** 2


def train_epoch(model, pairs, optimizer, margin):
    model.train()
    losses = []
    for x1, x2, same in pairs:
        e1, e2 = model(x1), model(x2)
        losses.append(contrastive_pair(e1, e2, margin, same))
    batch_loss = torch.mean(torch.stack(losses))
    optimizer.zero_grad()
    batch_loss.backward()
    optimizer.step()
    return batch_loss.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--margin", type=float, default=1.0)
    args = parser.parse_args()
    model = Encoder(20, 8)
    optimizer = Adam(model.parameters(), lr=args.lr)
    pairs = [(torch.randint(0, 20, (1, 5)), torch.randint(0, 20, (1, 5)), i % 2 == 0) for i in range(6)]
    for epoch in range(args.epochs):
        loss = train_epoch(model, pairs, optimizer, args.margin)
        print(f"Epoch {epoch}: {loss:.4f}")


if __name__ == "__main__":
    main()
