"""Two heads, two losses, two backward calls: harmless only as long as nothing saved is shared."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class AgeGenderNet(nn.Module):
    def __init__(self, features=10, width=12):
        super().__init__()
        self.trunk = nn.Linear(features, width)
        self.age = nn.Linear(width, 1)
        self.gender = nn.Linear(width, 2)

    def forward(self, x):
        shared = torch.relu(self.trunk(x))
        return self.age(shared).squeeze(1), self.gender(shared)


def backward_all(age_loss, gender_loss):
    age_loss.backward()
    gender_loss.backward()  # error: [double-backward] # raises: RuntimeError "through the graph a second time"


def train(model, loader, optimizer, epochs):
    for epoch in range(epochs):
        age_total = gender_total = 0.0
        for x, age, gender in loader:
            optimizer.zero_grad()
            age_out, gender_out = model(x)
            age_loss = F.l1_loss(age_out, age)
            gender_loss = F.cross_entropy(gender_out, gender)
            backward_all(age_loss, gender_loss)
            optimizer.step()
            age_total += age_loss.item()
            gender_total += gender_loss.item()
        print(f"epoch {epoch}: age {age_total / len(loader):.3f}, gender {gender_total / len(loader):.3f}")


def main():
    torch.manual_seed(0)
    x = torch.randn(40, 10)
    dataset = TensorDataset(x, 30 + 10 * x[:, 0], (x[:, 1] > 0).long())
    model = AgeGenderNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    train(model, DataLoader(dataset, batch_size=10, shuffle=True), optimizer, epochs=2)


if __name__ == "__main__":
    main()
