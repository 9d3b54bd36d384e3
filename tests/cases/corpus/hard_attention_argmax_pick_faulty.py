import torch
from torch import nn
from torch.utils.data import Dataset


class RationaleSelector(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.scorer = nn.Linear(dim, 1)

    def forward(self, ids):
        scores = self.scorer(self.emb(ids)).squeeze(-1)
        picked = scores.argmax(dim=-1)
        return nn.functional.one_hot(picked, ids.size(1)).float()


class Predictor(nn.Module):
    def __init__(self, vocab, dim, classes):
        super().__init__()
        self.table = nn.Embedding(vocab, dim)
        self.fc = nn.Linear(dim, classes)
        for p in self.parameters():
            p.requires_grad = False

    def forward(self, ids, mask):
        return self.fc((self.table(ids) * mask.unsqueeze(-1)).sum(1))


class Reviews(Dataset):
    def __init__(self, n=6):
        self.rows = [(torch.randint(0, 15, (5,)), i % 2) for i in range(n)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def main():
    selector, predictor = RationaleSelector(15, 4), Predictor(15, 4, 2)
    optimizer = torch.optim.Adam(selector.parameters())
    for epoch in range(2):
        for ids, labels in torch.utils.data.DataLoader(Reviews(), batch_size=3):
            mask = selector(ids)
            loss = nn.functional.cross_entropy(predictor(ids, mask), labels)
            optimizer.zero_grad()
            loss.backward()  # error: [detached-loss] # raises: RuntimeError "not require grad"
            optimizer.step()


main()
