"""Saliency maps during evaluation: the graph must be built before the no_grad block, backward may run inside."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3, padding=1)
        self.fc = nn.Linear(6 * 4 * 4, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        return self.fc(x.flatten(1))


def train(model, loader, optimizer):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


def saliency(model, image):
    image = image.detach().clone().requires_grad_()
    logits = model(image.unsqueeze(0))
    score = logits.max()
    with torch.no_grad():
        score.backward()
        heat = image.grad.abs().amax(dim=0)
        heat /= heat.max() + 1e-8
    model.zero_grad()
    return heat, logits.argmax().item()


def report(model, dataset, n):
    model.eval()
    rows = []
    for index in range(n):
        image, label = dataset[index]
        heat, predicted = saliency(model, image)
        rows.append((label.item(), predicted, heat.mean().item()))
    return rows


def main():
    torch.manual_seed(0)
    dataset = TensorDataset(torch.rand(24, 1, 8, 8), torch.randint(0, 3, (24,)))
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(2):
        train(model, DataLoader(dataset, batch_size=8, shuffle=True), optimizer)
    for label, predicted, mean in report(model, dataset, n=3):
        print(f"label {label} predicted {predicted} mean heat {mean:.3f}")


if __name__ == "__main__":
    main()
