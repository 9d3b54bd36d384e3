"""A classifier with an external memory that is written at every batch."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class ExternalMemory(nn.Module):
    def __init__(self, slots, width):
        super().__init__()
        self.slots, self.width = slots, width
        self.erase = nn.Linear(width, width)
        self.content = None

    def initialise(self):
        self.content = torch.zeros(self.slots, self.width)

    def read(self, key):
        weights = F.softmax(key @ self.content.t(), dim=-1)
        return weights @ self.content, weights

    def write(self, weights, vector):
        erase = torch.sigmoid(self.erase(vector))
        w = weights.mean(0).unsqueeze(1)
        self.content = self.content * (1 - w * erase.mean(0)) + w * vector.mean(0)


class MemoryClassifier(nn.Module):
    def __init__(self, dim, width, slots, classes):
        super().__init__()
        self.encode = nn.Linear(dim, width)
        self.memory = ExternalMemory(slots, width)
        self.head = nn.Linear(width * 2, classes)

    def forward(self, x):
        key = torch.tanh(self.encode(x))
        recalled, weights = self.memory.read(key)
        self.memory.write(weights, key)
        return self.head(torch.cat([key, recalled], dim=1))


def train(model, loader, optimizer, scheduler, num_epochs):
    criterion = nn.CrossEntropyLoss()
    for epoch in range(num_epochs):
        model.memory.initialise()
        running_corrects = 0
        for inputs, labels in loader:
            optimizer.zero_grad()
            outputs = model(inputs)
            loss = criterion(outputs, labels)
            loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
            optimizer.step()
            running_corrects += torch.sum(outputs.argmax(1) == labels.data).item()
        scheduler.step()
        print(f"Epoch {epoch}/{num_epochs - 1} acc: {running_corrects / len(loader.dataset):.3f}")


def main():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(40, 8), torch.randint(0, 3, (40,))), batch_size=10)
    model = MemoryClassifier(dim=8, width=10, slots=5, classes=3)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.95)
    train(model, loader, optimizer, scheduler, num_epochs=2)


if __name__ == "__main__":
    main()
