"""Linear regression with a step written by hand."""

import torch


def sgd(params, lr, batch_size):
    for param in params:
        param.data.sub_(lr * param.grad / batch_size)
        param.grad.zero_()


def linreg(X, w, b):
    return X @ w + b


def squared_loss(y_hat, y):
    return (y_hat - y.reshape(y_hat.shape)) ** 2 / 2


true_w = torch.tensor([2.0, -3.4])
features = torch.randn(60, 2)
labels = features @ true_w + 4.2
w = torch.normal(0, 0.01, size=(2, 1), requires_grad=True)
b = torch.zeros(1, requires_grad=True)
for epoch in range(3):
    for i in range(0, 60, 10):
        X, y = features[i : i + 10], labels[i : i + 10]
        l = squared_loss(linreg(X, w, b), y).sum()
        l.backward()
        sgd([w, b], 0.03, 10)
    with torch.no_grad():
        print(epoch, squared_loss(linreg(features, w, b), labels).mean().item())

# torch: float(b) != 0.0
