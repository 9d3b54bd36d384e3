"""Cross-batch memory for metric learning: features of earlier batches serve as negatives."""

from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class FeatureBank:
    def __init__(self, capacity):
        self.features = deque(maxlen=capacity)
        self.labels = deque(maxlen=capacity)

    def enqueue(self, features, labels):
        self.features.append(features)
        self.labels.append(labels)

    def get(self):
        return torch.cat(list(self.features)), torch.cat(list(self.labels))

    def __len__(self):
        return len(self.features)


class EmbeddingNet(nn.Module):
    def __init__(self, in_dim=8, out_dim=6):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(in_dim, 16), nn.ReLU(), nn.Linear(16, out_dim))

    def forward(self, x):
        return F.normalize(self.backbone(x), dim=1)


def contrastive_loss(anchors, labels, others, other_labels, margin=0.5):
    similarity = anchors @ others.t()
    same = labels[:, None] == other_labels[None, :]
    positive = (1 - similarity)[same].sum()
    negative = F.relu(similarity - margin)[~same].sum()
    return (positive + negative) / len(anchors)


def train(model, loader, optimizer, bank, epochs, warmup=2):
    step = 0
    for epoch in range(epochs):
        for x, y in loader:
            features = model(x)
            loss = contrastive_loss(features, y, features, y)
            if step >= warmup:
                memory, memory_labels = bank.get()
                loss = loss + contrastive_loss(features, y, memory, memory_labels)
            optimizer.zero_grad()
            loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
            optimizer.step()
            bank.enqueue(features, y)
            step += 1
        print(f"epoch {epoch}: {loss.item():.4f}, {len(bank)} batches in the bank")


def main():
    torch.manual_seed(0)
    labels = torch.arange(48) % 4
    data = torch.randn(4, 8)[labels] + 0.5 * torch.randn(48, 8)
    loader = DataLoader(TensorDataset(data, labels), batch_size=12, shuffle=True)
    model = EmbeddingNet()
    train(model, loader, torch.optim.Adam(model.parameters(), lr=1e-3), FeatureBank(4), epochs=2)


if __name__ == "__main__":
    main()
