"""GradNorm: task weights from the norm of each task's gradient in the shared layer."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SharedNet(nn.Module):
    def __init__(self, features=6, width=10):
        super().__init__()
        self.shared = nn.Linear(features, width)
        self.depth = nn.Linear(width, 1)
        self.segment = nn.Linear(width, 3)

    def forward(self, x):
        h = torch.relu(self.shared(x))
        return self.depth(h).squeeze(1), self.segment(h)


def task_losses(model, x, depth, label):
    predicted_depth, logits = model(x)
    return F.l1_loss(predicted_depth, depth), F.cross_entropy(logits, label)


def gradient_norms(losses, parameter):
    norms = []
    for loss in losses:
        (grad,) = torch.autograd.grad(loss, parameter, retain_graph=loss is not losses[-1])
        norms.append(grad.norm())
    return torch.stack(norms)


def balance(norms, temperature=1.0):
    return len(norms) * torch.softmax(-norms / temperature, dim=0)


def train_step(model, optimizer, batch):
    losses = task_losses(model, *batch)
    weights = balance(gradient_norms(losses, model.shared.weight))
    loss = sum(weight * task_loss for weight, task_loss in zip(weights, losses))
    optimizer.zero_grad()
    loss.backward()  # error: [double-backward] # raises: RuntimeError "through the graph a second time"
    optimizer.step()
    return [task_loss.item() for task_loss in losses], weights.tolist()


def main():
    torch.manual_seed(0)
    x = torch.randn(48, 6)
    dataset = TensorDataset(x, x.sum(dim=1), torch.randint(0, 3, (48,)))
    model = SharedNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(2):
        for batch in DataLoader(dataset, batch_size=12, shuffle=True):
            losses, weights = train_step(model, optimizer, batch)
        print(epoch, losses, weights)


if __name__ == "__main__":
    main()
