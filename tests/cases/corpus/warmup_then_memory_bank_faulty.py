import torch
import torch.nn as nn
import torch.nn.functional as F


class MemoryBank:
    def __init__(self, size, dim):
        self.features = F.normalize(torch.randn(size, dim), dim=1)
        self.momentum = 0.5

    def update(self, index, feats):
        mixed = self.momentum * self.features[index] + (1 - self.momentum) * feats
        self.features = self.features.index_copy(0, index, F.normalize(mixed, dim=1))

    def logits(self, feats, t=0.1):
        return feats @ self.features.t() / t


encoder = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
bank = MemoryBank(12, 4)
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.03, momentum=0.9, weight_decay=1e-4)
warmup_epochs = 3
data = torch.randn(12, 6)

for epoch in range(10):
    for index in torch.randperm(12).split(4):
        feats = F.normalize(encoder(data[index]), dim=1)
        loss = F.cross_entropy(bank.logits(feats), index)
        optimizer.zero_grad()
        loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
        optimizer.step()
        if epoch >= warmup_epochs:
            bank.update(index, feats)
    print(f"epoch {epoch} loss {loss.item():.4f}")
