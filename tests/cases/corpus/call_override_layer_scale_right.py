import torch
from torch import nn


class Layer:
    """A tiny layer without nn.Module, as in a tutorial on frameworks from scratch."""

    def __init__(self, n_in, n_out, act=None):
        self.w = torch.randn(n_in, n_out, requires_grad=True)
        self.b = torch.zeros(n_out, requires_grad=True)
        self.act = act

    def __call__(self, x):
        y = x @ self.w + self.b
        return self.act(y) if self.act is not None else y

    def parameters(self):
        return [self.w, self.b]


class Net:
    def __init__(self, sizes):
        self.layers = [Layer(a, b, torch.sigmoid) for a, b in zip(sizes, sizes[1:])]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    def parameters(self):
        return [p for layer in self.layers for p in layer.parameters()]

    def update(self, lr):
        for p in self.parameters():
            p.data -= lr * p.grad
            p.grad.zero_()


net = Net([2, 4, 1])
X = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
Y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
for epoch in range(5):
    loss = ((net(X) - Y) ** 2).mean()
    loss.backward()
    net.update(0.5)
    if epoch % 2 == 0:
        print("Loss:", loss.item())
