"""Value and policy heads trained by hand: one update happens while the other loss still waits."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

LR = 0.5


class TwoHeads(nn.Module):
    def __init__(self, features=4, hidden=10, actions=3):
        super().__init__()
        self.fc1 = nn.Linear(features, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, 1)
        self.policy = nn.Linear(hidden, actions)

    def forward(self, x):
        h = torch.tanh(self.fc2(torch.tanh(self.fc1(x))))
        return self.value(h).squeeze(1), F.log_softmax(self.policy(h), dim=1)


def losses(net, batch):
    x, action, returns = batch
    value, log_probs = net(x)
    advantage = (returns - value).detach()
    value_loss = F.mse_loss(value, returns)
    policy_loss = -(log_probs.gather(1, action).squeeze(1) * advantage).mean()
    return value_loss, policy_loss


def sgd(net, lr):
    for p in net.parameters():
        if p.grad is not None:
            p.data.sub_(lr * p.grad)  # warning: [data-mutation]
            p.grad = None


def train_step(net, batch):
    value_loss, policy_loss = losses(net, batch)
    value_loss.backward(retain_graph=True)
    sgd(net, LR)
    policy_loss.backward()
    gradient = net.fc1.weight.grad.clone()
    sgd(net, LR)
    return gradient, value_loss.item(), policy_loss.item()


def reference_gradient(net, batch):
    """What the step's last gradient should be, computed on its own."""
    _, policy_loss = losses(net, batch)
    return torch.autograd.grad(policy_loss, net.fc1.weight)[0]


def batches(n, size=16):
    for _ in range(n):
        x = torch.randn(size, 4)
        yield x, torch.randint(0, 3, (size, 1)), x.sum(dim=1)


def main():
    torch.manual_seed(0)
    net = TwoHeads()
    worst = 0.0
    for i, batch in enumerate(batches(4)):
        reference = reference_gradient(copy.deepcopy(net), batch)
        gradient, value_loss, policy_loss = train_step(net, batch)
        worst = max(worst, (gradient - reference).abs().max().item())
        print(f"{i}: value {value_loss:.4f} policy {policy_loss:.4f}")
    return worst


if __name__ == "__main__":
    gradient_error = main()

# torch: gradient_error > 1e-3
