import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

encoder = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 4))


class FeatureDataset(Dataset):
    def __init__(self, raw, labels):
        self.raw = raw
        self.labels = labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.raw[i], self.labels[i]


def collate(batch):
    xs, ys = zip(*batch)
    return torch.stack(xs), torch.stack(ys)


loader = DataLoader(FeatureDataset(torch.randn(8, 6), torch.randint(0, 3, (8,))), batch_size=4, collate_fn=collate)
head = nn.Linear(4, 3)
opt = torch.optim.Adam([*encoder.parameters(), *head.parameters()])
for epoch in range(2):
    for x, y in loader:
        x = encoder(x)
        loss = nn.functional.cross_entropy(head(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
