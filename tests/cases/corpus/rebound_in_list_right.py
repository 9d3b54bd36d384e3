"""A two-layer network from bare tensors; the update builds a new list of parameters."""

import torch
import torch.nn.functional as F


def init_params(sizes, scale=0.3):
    params = []
    for fan_in, fan_out in zip(sizes, sizes[1:]):
        params.append((scale * torch.randn(fan_in, fan_out)).requires_grad_())
        params.append(torch.zeros(fan_out, requires_grad=True))
    return params


def forward(params, x):
    w1, b1, w2, b2 = params
    return torch.tanh(x @ w1 + b1) @ w2 + b2


def accuracy(params, x, y):
    with torch.no_grad():
        return (forward(params, x).argmax(dim=1) == y).float().mean().item()


def train(params, x, y, lr, epochs, batch_size):
    for epoch in range(epochs):
        for index in torch.randperm(len(x)).split(batch_size):
            loss = F.cross_entropy(forward(params, x[index]), y[index])
            loss.backward()
            params = [(p - lr * p.grad).detach().requires_grad_() for p in params]
        print(f"epoch {epoch}: loss {loss.item():.4f}, accuracy {accuracy(params, x, y):.3f}")
    return params


def spiral(n=60, classes=3):
    label = torch.arange(n) % classes
    radius = torch.rand(n)
    angle = radius * 4 + label * 2 * torch.pi / classes
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1), label


def main():
    torch.manual_seed(0)
    x, y = spiral()
    params = init_params([2, 16, 3])
    params = train(params, x, y, lr=0.5, epochs=3, batch_size=20)
    print("final accuracy", accuracy(params, x, y))


if __name__ == "__main__":
    main()
