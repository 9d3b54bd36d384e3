"""Multi-task learning: one trunk, a classification head and a regression head, learned task weights."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class TwoTaskDataset(Dataset):
    def __init__(self, size=80, features=12, classes=5):
        self.x = torch.randn(size, features)
        self.label = torch.randint(0, classes, (size,))
        self.value = self.x[:, :1] + 0.1 * torch.randn(size, 1)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return {"x": self.x[index], "label": self.label[index], "value": self.value[index]}


class MultiTaskNet(nn.Module):
    def __init__(self, features=12, hidden=32, classes=5):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.classify = nn.Linear(hidden, classes)
        self.regress = nn.Linear(hidden, 1)

    def forward(self, x):
        shared = self.trunk(x)
        return {"logits": self.classify(shared), "value": self.regress(shared)}


class UncertaintyWeighting(nn.Module):
    """Each task's loss is scaled by a learned precision (Kendall et al.)."""

    def __init__(self, num_tasks):
        super().__init__()
        self.log_vars = nn.Parameter(torch.zeros(num_tasks))

    def forward(self, losses):
        stacked = torch.stack(list(losses.values()))
        return stacked * torch.exp(-self.log_vars) + self.log_vars


def compute_losses(outputs, batch):
    return {
        "classification": F.cross_entropy(outputs["logits"], batch["label"]),
        "regression": F.smooth_l1_loss(outputs["value"], batch["value"]),
    }


def train(model, weighting, loader, optimizer, epochs):
    for epoch in range(epochs):
        totals = dict.fromkeys(("classification", "regression"), 0.0)
        for batch in loader:
            optimizer.zero_grad()
            losses = compute_losses(model(batch["x"]), batch)
            loss = weighting(losses)
            loss.backward()
            optimizer.step()
            for name, value in losses.items():
                totals[name] += value.item()
        report = ", ".join(f"{name} {total / len(loader):.4f}" for name, total in totals.items())
        print(f"epoch {epoch}: {report}")


def main():
    torch.manual_seed(0)
    loader = DataLoader(TwoTaskDataset(), batch_size=16, shuffle=True)
    model = MultiTaskNet()
    weighting = UncertaintyWeighting(num_tasks=2)
    optimizer = torch.optim.Adam([*model.parameters(), *weighting.parameters()], lr=1e-3)
    train(model, weighting, loader, optimizer, epochs=2)


if __name__ == "__main__":
    main()
