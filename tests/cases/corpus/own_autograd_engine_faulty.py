"""A scalar autograd engine of our own, checked against PyTorch."""

import math
import random

import torch


class Value:
    """A number with a gradient; backward() may be called as often as one likes."""

    def __init__(self, data, children=(), local=()):
        self.data, self.grad = data, 0.0
        self.children, self.local = children, local

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data + other.data, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data * other.data, (self, other), (other.data, self.data))

    def tanh(self):
        t = math.tanh(self.data)
        return Value(t, (self,), (1 - t * t,))

    def detach(self):
        return Value(self.data)

    def backward(self, grad=1.0):
        self.grad += grad
        for child, local in zip(self.children, self.local):
            child.backward(grad * local)


class Descent:
    def __init__(self, values, lr):
        self.values, self.lr = values, lr

    def zero_grad(self):
        for v in self.values:
            v.grad = 0.0

    def step(self):
        for v in self.values:
            v.data -= self.lr * v.grad


def neuron(weights, bias, xs):
    total = bias
    for w, x in zip(weights, xs):
        total = total + w * x
    return total.tanh()


def train(weights, bias, data, steps):
    optimizer = Descent([*weights, bias], lr=0.1)
    for step in range(steps):
        loss = Value(0.0)
        for xs, y in data:
            error = neuron(weights, bias, xs) + -y
            loss = loss + error * error
        optimizer.zero_grad()
        loss.backward()
        loss.backward()
        optimizer.step()
    return loss.data


def compare(xs, ws):
    ours = [Value(w) for w in ws]
    out = neuron(ours, Value(0.1), xs)
    out.backward()
    out.backward()
    theirs = torch.tensor(ws, dtype=torch.float64, requires_grad=True)
    result = torch.tanh(theirs @ torch.tensor(xs, dtype=torch.float64) + 0.1)
    result.backward()
    result.backward()  # error: [double-backward] # raises: RuntimeError "through the graph a second time"
    return max(abs(v.grad - g) for v, g in zip(ours, theirs.grad.tolist()))


def main():
    random.seed(0)
    data = [([random.uniform(-1, 1), random.uniform(-1, 1)], random.choice([-1.0, 1.0])) for _ in range(6)]
    weights = [Value(random.uniform(-1, 1)) for _ in range(2)]
    print("loss", train(weights, Value(0.0), data, steps=10))
    print("difference", compare([0.5, -0.3], [0.2, 0.7]))


if __name__ == "__main__":
    main()
