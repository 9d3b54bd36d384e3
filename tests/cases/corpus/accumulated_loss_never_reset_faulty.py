import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Ranker(nn.Module):
    def __init__(self, users=10, items=12, dim=4):
        super().__init__()
        self.users, self.items = nn.Embedding(users, dim), nn.Embedding(items, dim)

    def forward(self, user, item):
        return (self.users(user) * self.items(item)).sum(-1)


def triples(n):
    for _ in range(n):
        yield torch.randint(0, 10, (6,)), torch.randint(0, 12, (6,)), torch.randint(0, 12, (6,))


ranker = Ranker()
optimizer = torch.optim.Adam(ranker.parameters(), lr=0.01)
accumulate = 2
loss = 0
for i, (user, liked, other) in enumerate(triples(8), start=1):
    difference = ranker(user, liked) - ranker(user, other)
    loss = loss - F.logsigmoid(difference).mean() / accumulate
    if i % accumulate == 0:
        loss.backward()  # error: [carried-graph]  # raises: RuntimeError "second time"
        optimizer.step()
        optimizer.zero_grad()
        print(i, loss.item())
