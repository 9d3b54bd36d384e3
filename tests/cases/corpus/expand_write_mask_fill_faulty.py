import torch
from torch import nn


class Scorer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query = nn.Parameter(torch.randn(1, dim))
        self.key = nn.Linear(dim, dim)

    def forward(self, x, lengths):
        q = self.query.expand(x.size(0), -1)
        scores = torch.einsum("bd,btd->bt", q, self.key(x))
        probs = torch.softmax(scores, dim=1)
        for i, n in enumerate(lengths):
            probs[i, n:] = 0  # error: [inplace-on-saved]
        return (probs.unsqueeze(-1) * x).sum(1)


scorer, clf = Scorer(4), nn.Linear(4, 2)
opt = torch.optim.Adam([*scorer.parameters(), *clf.parameters()])
for _ in range(2):
    x = torch.randn(3, 5, 4)
    loss = nn.functional.cross_entropy(clf(scorer(x, [2, 3, 5])), torch.tensor([0, 1, 0]))
    opt.zero_grad()
    loss.backward()  # raises: RuntimeError "modified by an inplace operation"
    opt.step()
