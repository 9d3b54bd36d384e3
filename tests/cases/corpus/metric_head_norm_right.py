"""Metric learning with a triplet loss on normalised embeddings."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class TripletDataset(Dataset):
    def __init__(self, n=40, dim=12, classes=4):
        self.labels = torch.arange(n) % classes
        centers = torch.randn(classes, dim)
        self.points = centers[self.labels] + 0.3 * torch.randn(n, dim)

    def __len__(self):
        return len(self.points)

    def __getitem__(self, i):
        same = (self.labels == self.labels[i]).nonzero().squeeze(1)
        other = (self.labels != self.labels[i]).nonzero().squeeze(1)
        positive = same[torch.randint(len(same), ()).item()]
        negative = other[torch.randint(len(other), ()).item()]
        return self.points[i], self.points[positive], self.points[negative]


class EmbeddingNet(nn.Module):
    def __init__(self, in_dim=12, hidden=24, out_dim=6):
        super().__init__()
        self.fc1 = nn.Linear(in_dim, hidden)
        self.bn = nn.BatchNorm1d(hidden)
        self.fc2 = nn.Linear(hidden, out_dim)

    def forward(self, x):
        x = torch.relu(self.bn(self.fc1(x)))
        x = self.fc2(x)
        return x / x.norm(p=2, dim=1, keepdim=True)


def train(model, loader, optimizer, criterion, epoch):
    model.train()
    epoch_loss = 0.0
    for anchor, positive, negative in loader:
        optimizer.zero_grad()
        emb_a, emb_p, emb_n = model(anchor), model(positive), model(negative)
        loss = criterion(emb_a, emb_p, emb_n)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() / len(loader)
    print(f"epoch {epoch}: triplet loss {epoch_loss:.4f}")


@torch.no_grad()
def nearest_neighbour_accuracy(model, dataset):
    model.eval()
    emb = model(dataset.points)
    distance = torch.cdist(emb, emb)
    distance.fill_diagonal_(float("inf"))
    return (dataset.labels[distance.argmin(1)] == dataset.labels).float().mean().item()


def main():
    torch.manual_seed(0)
    dataset = TripletDataset()
    loader = DataLoader(dataset, batch_size=10, shuffle=True)
    model = EmbeddingNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.TripletMarginLoss(margin=0.5)
    for epoch in range(3):
        train(model, loader, optimizer, criterion, epoch)
        print(f"accuracy {nearest_neighbour_accuracy(model, dataset):.2f}")


if __name__ == "__main__":
    main()
