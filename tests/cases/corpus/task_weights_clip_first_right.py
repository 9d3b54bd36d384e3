"""Task weights that clip the shared gradients of a multi-task network."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class WeightMethod:
    """Balances task losses by softmax weights of its own."""

    def __init__(self, n_tasks, gamma=1e-3, w_lr=0.025, max_norm=1e-6):
        self.min_losses = torch.zeros(n_tasks)
        self.w = torch.tensor([0.0] * n_tasks, requires_grad=True)
        self.w_opt = torch.optim.Adam([self.w], lr=w_lr, weight_decay=gamma)
        self.max_norm = max_norm

    def get_weighted_loss(self, losses):
        self.prev_loss = losses.detach()
        z = F.softmax(self.w, -1).detach()
        d = losses - self.min_losses + 1e-8
        c = (z / d).sum().detach()
        return (d.log() * z / c).sum()

    def backward(self, losses, shared_parameters=None):
        loss = self.get_weighted_loss(losses)
        loss.backward()
        if self.max_norm > 0 and shared_parameters is not None:
            torch.nn.utils.clip_grad_norm_(shared_parameters, self.max_norm)
        return loss


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(6, 16)
        self.heads = nn.ModuleList([nn.Linear(16, 1) for _ in range(3)])

    def forward(self, x):
        h = F.relu(self.trunk(x))
        return [head(h) for head in self.heads]


def main():
    model = MultiTask()
    method = WeightMethod(3)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    first = model.trunk.weight.detach().clone()
    for step in range(4):
        x, ys = torch.randn(16, 6), torch.randn(3, 16, 1)
        outs = model(x)
        losses = torch.stack([F.mse_loss(o, y) for o, y in zip(outs, ys)])
        optimizer.zero_grad()
        method.backward(losses, model.parameters())
        optimizer.step()
        print(step, losses.mean().item())
    return (model.trunk.weight - first).abs().max()


moved = main()

# torch: moved < 1e-4
