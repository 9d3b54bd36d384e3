"""Learning to rank with a soft NDCG; the loss is packed into a new tensor."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Scorer(nn.Module):
    def __init__(self, features=5, hidden=10):
        super().__init__()
        self.fc1 = nn.Linear(features, hidden)
        self.fc2 = nn.Linear(hidden, 1)

    def forward(self, documents):
        return self.fc2(torch.tanh(self.fc1(documents))).squeeze(-1)


def soft_rank(scores, temperature=0.5):
    difference = scores.unsqueeze(1) - scores.unsqueeze(2)
    return 0.5 + torch.sigmoid(difference / temperature).sum(dim=1)


def ndcg_loss(scores, relevance):
    gains = 2.0**relevance - 1
    dcg = (gains / torch.log2(1 + soft_rank(scores))).sum(dim=1)
    ideal_gains = gains.sort(dim=1, descending=True).values
    discounts = torch.log2(torch.arange(gains.size(1)) + 2.0)
    idcg = (ideal_gains / discounts).sum(dim=1).clamp(min=1e-8)
    loss = 1 - (dcg / idcg).mean()
    return loss


def train_epoch(scorer, loader, optimizer, loss_fn, clip=None):
    scorer.train()
    total = 0.0
    for documents, relevance in loader:
        optimizer.zero_grad()
        loss = loss_fn(scorer(documents), relevance)
        loss.backward()
        if clip is not None:
            nn.utils.clip_grad_value_(scorer.parameters(), clip)
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def main():
    torch.manual_seed(0)
    documents = torch.randn(24, 6, 5)
    relevance = (documents[..., 0] * 2).round().clamp(0, 3)
    loader = DataLoader(TensorDataset(documents, relevance), batch_size=6, shuffle=True)
    scorer = Scorer()
    optimizer = torch.optim.Adam(scorer.parameters(), lr=1e-2)
    losses = [train_epoch(scorer, loader, optimizer, ndcg_loss) for _ in range(3)]
    print(losses)
    return scorer


if __name__ == "__main__":
    scorer = main()

# torch: scorer.fc1.weight.grad is not None and scorer.fc2.weight.grad is not None
