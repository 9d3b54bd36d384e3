"""Word vectors with a bound on their norm; the output layer uses the same table."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

VOCAB, DIM, WINDOW = 25, 6, 2
text = torch.randint(0, VOCAB, (80,)).tolist()


class CBOW(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(VOCAB, DIM, max_norm=1.0)
        self.project = nn.Linear(DIM, DIM)

    def forward(self, context):
        keys = self.project(self.table.weight)
        query = self.table(context).mean(dim=1)  # error: [inplace-on-saved]
        return query @ keys.t()


def windows():
    for i in range(WINDOW, len(text) - WINDOW):
        yield text[i - WINDOW : i] + text[i + 1 : i + WINDOW + 1], text[i]


def batches(size):
    ctx, tgt = [], []
    for c, t in windows():
        ctx.append(c)
        tgt.append(t)
        if len(tgt) == size:
            yield torch.tensor(ctx), torch.tensor(tgt)
            ctx, tgt = [], []


model = CBOW()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for epoch in range(2):
    total = 0.0
    for context, target in batches(16):
        loss = F.cross_entropy(model(context), target)
        optimizer.zero_grad()
        loss.backward()  # raises: RuntimeError
        optimizer.step()
        total += loss.item()
    print(epoch, total)
