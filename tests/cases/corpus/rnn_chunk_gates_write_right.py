import torch
from torch import nn


class GRUCell(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.x2h = nn.Linear(inputs, 3 * hidden)
        self.h2h = nn.Linear(hidden, 3 * hidden)

    def forward(self, x, h):
        xr, xz, xn = self.x2h(x).chunk(3, dim=1)
        hr, hz, hn = self.h2h(h).chunk(3, dim=1)
        r = torch.sigmoid(xr + hr)
        z = torch.sigmoid(xz + hz)
        n = torch.tanh(xn + r * hn)
        return (1 - z) * n + z * h


class Tagger(nn.Module):
    def __init__(self, vocab, tags, dim=8):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.cell = GRUCell(dim, dim)
        self.out = nn.Linear(dim, tags)
        self.dim = dim

    def forward(self, tokens, lengths):
        h = torch.zeros(tokens.size(0), self.dim)
        outs = []
        for t in range(tokens.size(1)):
            new = self.cell(self.emb(tokens[:, t]), h)
            mask = (t < lengths).float().unsqueeze(1)
            h = mask * new + (1 - mask) * h
            outs.append(self.out(h))
        return torch.stack(outs, 1)


def batch_iter(n):
    for _ in range(n):
        lengths = torch.randint(1, 5, (3,))
        yield torch.randint(0, 12, (3, 4)), lengths, torch.randint(0, 4, (3, 4))


def train(model, epochs, lr=0.1):
    opt = torch.optim.Adagrad(model.parameters(), lr=lr)
    ce = nn.CrossEntropyLoss(ignore_index=0)
    for epoch in range(epochs):
        total, count = 0.0, 0
        for tokens, lengths, tags in batch_iter(2):
            opt.zero_grad()
            scores = model(tokens, lengths)
            loss = ce(scores.view(-1, scores.size(-1)), tags.view(-1))
            loss.backward()
            opt.step()
            total += loss.item() * lengths.sum().item()
            count += lengths.sum().item()
        print(f"epoch {epoch}: {total / count:.3f}")


if __name__ == "__main__":
    train(Tagger(12, 4), 2)
