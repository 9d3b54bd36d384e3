import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler


class Imbalanced(Dataset):
    def __init__(self, n=24):
        self.x = torch.randn(n, 5)
        self.y = (torch.rand(n) < 0.2).long()
        self.weight = torch.where(self.y == 1, 4.0, 1.0)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i], self.weight[i]


def train(model, dataset, epochs=2):
    sampler = WeightedRandomSampler(dataset.weight.tolist(), num_samples=len(dataset))
    loader = DataLoader(dataset, batch_size=8, sampler=sampler)
    criterion = nn.CrossEntropyLoss(reduction="none")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        total = 0.0
        for x, y, w in loader:
            optimizer.zero_grad()
            loss = w * criterion(model(x), y)
            loss.backward()  # error: [nonscalar-backward]  # raises: RuntimeError "only for scalar outputs"
            optimizer.step()
            total += loss.mean().item()
        print(f"epoch {epoch}: {total / len(loader):.4f}")


train(nn.Sequential(nn.Linear(5, 16), nn.GELU(), nn.Linear(16, 2)), Imbalanced())
