"""A tiny speech-command recogniser, trained by a Trainer class."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Commands(Dataset):
    def __init__(self, n=40, frames=10, mels=6, classes=4):
        self.x = torch.randn(n, mels, frames)
        self.y = torch.arange(n) % classes
        self.x += self.y[:, None, None] * 0.5

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class M3(nn.Module):
    def __init__(self, mels=6, classes=4, channels=8):
        super().__init__()
        self.conv1 = nn.Conv1d(mels, channels, 3, padding=1)
        self.bn1 = nn.BatchNorm1d(channels)
        self.conv2 = nn.Conv1d(channels, channels, 3, padding=1)
        self.fc = nn.Linear(channels, classes)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(self.conv2(x)).mean(dim=-1)
        return self.fc(x)


class Trainer:
    def __init__(self, model, loader, lr=1e-6):
        self.model = model
        self.loader = loader
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.bias_grads = []

    def train_batch(self, x, y):
        logits = self.model(x)
        loss = self.criterion(logits, y)
        loss.backward()  # warning: [missing-zero-grad]
        self.optimizer.step()
        self.bias_grads.append(self.model.fc.bias.grad.norm().item())
        return loss.item()

    def train_epoch(self):
        self.model.train()
        self.optimizer.zero_grad()
        losses = []
        for x, y in self.loader:
            losses.append(self.train_batch(x, y))
        return sum(losses) / len(losses)

    def fit(self, epochs):
        for epoch in range(epochs):
            print(f"epoch {epoch}: {self.train_epoch():.4f}")


def main():
    torch.manual_seed(0)
    loader = DataLoader(Commands(), batch_size=8, shuffle=False)
    trainer = Trainer(M3(), loader)
    trainer.fit(epochs=2)
    return trainer


if __name__ == "__main__":
    trainer = main()

# torch: len(trainer.bias_grads) == 10
# torch: trainer.bias_grads[4] > 3 * trainer.bias_grads[0]
