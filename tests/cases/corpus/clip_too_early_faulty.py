"""Sequence labelling with gradient clipping."""

import torch
import torch.nn as nn
from torch.nn.utils import clip_grad_norm_
from torch.utils.data import DataLoader, TensorDataset


class BiGRU(nn.Module):
    def __init__(self, vocab, dim, labels):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.projection = nn.Linear(2 * dim, labels)

    def forward(self, tokens):
        states, _ = self.gru(self.embedding(tokens))
        return self.projection(states)


def train(model, data_loader, optimizer, criterion, max_norm):
    model.train()
    norms, losses = [], []
    for tokens, labels in data_loader:
        logits = model(tokens)
        loss = criterion(logits.transpose(1, 2), labels)
        optimizer.zero_grad()
        norm = clip_grad_norm_(model.parameters(), max_norm)  # warning: [clip-without-gradient]
        loss.backward()
        optimizer.step()
        norms.append(norm.item())
        losses.append(loss.item())
    return norms, sum(losses) / len(losses)


@torch.no_grad()
def token_accuracy(model, data_loader):
    model.eval()
    right = total = 0
    for tokens, labels in data_loader:
        predicted = model(tokens).argmax(dim=-1)
        right += predicted.eq(labels).sum().item()
        total += labels.numel()
    return right / total


def main(epochs=2):
    torch.manual_seed(0)
    tokens = torch.randint(0, 20, (32, 6))
    loader = DataLoader(TensorDataset(tokens, tokens % 3), batch_size=8, shuffle=True)
    model = BiGRU(20, 8, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    history = []
    for epoch in range(epochs):
        norms, loss = train(model, loader, optimizer, nn.CrossEntropyLoss(), max_norm=0.5)
        history += norms
        print(f"epoch {epoch}: loss {loss:.4f}, accuracy {token_accuracy(model, loader):.3f}")
    return history


if __name__ == "__main__":
    gradient_norms = main()

# torch: all(norm == 0 for norm in gradient_norms)
