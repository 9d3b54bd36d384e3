"""Model-agnostic meta-learning on sine waves of random phase."""

from collections import OrderedDict

import torch
import torch.nn.functional as F


def init_weights(hidden=20):
    weights = OrderedDict()
    weights["w1"] = (torch.randn(hidden, 1) * 0.5).requires_grad_()
    weights["b1"] = torch.zeros(hidden, requires_grad=True)
    weights["w2"] = (torch.randn(1, hidden) * 0.2).requires_grad_()
    weights["b2"] = torch.zeros(1, requires_grad=True)
    return weights


def functional_forward(x, weights):
    x = torch.relu(F.linear(x, weights["w1"], weights["b1"]))
    return F.linear(x, weights["w2"], weights["b2"])


class SineTask:
    def __init__(self):
        self.amplitude = 0.5 + 2 * torch.rand(())
        self.phase = 3.14 * torch.rand(())

    def sample(self, k):
        x = 10 * torch.rand(k, 1) - 5
        return x, self.amplitude * torch.sin(x + self.phase)


class MAML:
    def __init__(self, inner_lr=0.01, meta_lr=1e-3, inner_steps=2, shots=8):
        self.weights = init_weights()
        self.meta_optimizer = torch.optim.Adam(self.weights.values(), lr=meta_lr)
        self.inner_lr, self.inner_steps, self.shots = inner_lr, inner_steps, shots

    def adapt(self, task):
        fast = self.weights
        for _ in range(self.inner_steps):
            x, y = task.sample(self.shots)
            loss = F.mse_loss(functional_forward(x, fast), y)
            grads = torch.autograd.grad(loss, fast.values(), create_graph=True)
            fast = OrderedDict((name, w - self.inner_lr * g) for (name, w), g in zip(fast.items(), grads))
        return fast

    def meta_step(self, tasks):
        meta_loss = 0.0
        for task in tasks:
            adapted = self.adapt(task)
            x, y = task.sample(self.shots)
            meta_loss = meta_loss + F.mse_loss(functional_forward(x, adapted), y) / len(tasks)
        self.meta_optimizer.zero_grad()
        meta_loss.backward()
        self.meta_optimizer.step()
        return meta_loss.item()


def main():
    torch.manual_seed(0)
    maml = MAML()
    for iteration in range(4):
        loss = maml.meta_step([SineTask() for _ in range(3)])
        print(f"iteration {iteration}: meta loss {loss:.4f}")


if __name__ == "__main__":
    main()
