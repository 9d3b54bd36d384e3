import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class MemoryStore:
    """Class-wise memory of features of the two domains."""

    def __init__(self, momentum, num_classes, dim):
        self.momentum = momentum
        self.entry_sketch = torch.zeros(num_classes, dim)
        self.entry_image = torch.zeros(num_classes, dim)

    def add_entries(self, fs, ls, fi, li):
        for f, l in zip(fs, ls):
            self.entry_sketch[l] = self.momentum * self.entry_sketch[l] + (1 - self.momentum) * f
        for f, l in zip(fi, li):
            self.entry_image[l] = self.momentum * self.entry_image[l] + (1 - self.momentum) * f

    def memory_loss(self, features, labels):
        wanted = F.normalize(self.entry_sketch[labels], dim=1)
        return F.cosine_similarity(features, wanted).mean()


class Net(nn.Module):
    def __init__(self, dim, classes):
        super(Net, self).__init__()
        self.backbone = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, dim))
        self.fc = nn.Linear(dim, classes)

    def forward(self, x):
        f = self.backbone(x)
        return self.fc(F.relu(f)), f


def train(loader, model, memory, criterion, optimizer, epoch, args):
    model.train()
    losses = 0.0
    for i, (sketch, image, label_s, label_i) in enumerate(loader):
        both = torch.cat([sketch, image], 0)
        out, features = model(both)
        n = sketch.size(0)
        memory.add_entries(features[:n].detach(), label_s.detach(), features[n:].detach(), label_i.detach())
        loss_ce = criterion(out, torch.cat([label_s, label_i]))
        # warning: [detached-term]
        loss_memory = 1.0 - memory.memory_loss(features[n:].detach(), label_i.detach())
        loss = loss_ce + args.lambda_memory * loss_memory
        losses += loss.item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % args.print_freq == 0:
            print(f"epoch {epoch} [{i}] loss {losses / (i + 1):.3f}")
    return losses


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lambda_memory", type=float, default=1.0)
    parser.add_argument("--print_freq", type=int, default=10)
    args = parser.parse_args([])
    data = TensorDataset(torch.randn(32, 12), torch.randn(32, 12), torch.randint(5, (32,)), torch.randint(5, (32,)))
    loader = DataLoader(data, batch_size=8, shuffle=True)
    model = Net(6, 5)
    memory = MemoryStore(0.9, 5, 6)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(args.epochs):
        train(loader, model, memory, nn.CrossEntropyLoss(), optimizer, epoch, args)
    return memory.memory_loss(model(torch.randn(4, 12))[1].detach(), torch.randint(5, (4,)))


gone = main()
# torch: not gone.requires_grad
