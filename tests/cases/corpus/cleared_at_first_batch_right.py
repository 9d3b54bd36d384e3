import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset


class SineDataset(Dataset):
    def __init__(self, n):
        self.x = np.random.uniform(-3, 3, (n, 1)).astype(np.float32)
        self.y = np.sin(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]

    def __len__(self):
        return len(self.x)


class Learner:
    def __init__(self, model, lr):
        self.model = model
        self.loss_fn = nn.MSELoss()
        self.optimizer = optim.SGD(self.model.parameters(), lr=lr)

    def train_batch(self, batch_idx, batch):
        x, y = batch
        self.optimizer.zero_grad()
        loss = self.loss_fn(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            losses = [self.train_batch(i, b) for i, b in enumerate(loader)]
            print(f"{epoch:3d} {np.mean(losses):.4f}")


np.random.seed(0)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
learner = Learner(model, lr=1e-3)
learner.fit(DataLoader(SineDataset(32), batch_size=8), 2)
g = model[0].weight.grad.norm().item()
# torch: g > 0
