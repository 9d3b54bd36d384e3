import torch as t
from matplotlib_stub import plot

t.manual_seed(1000)


def get_fake_data(batch_size=8):
    """y = 2x + 3, with noise"""
    x = t.rand(batch_size, 1) * 20
    y = x * 2 + (1 + t.randn(batch_size, 1)) * 3
    return x, y


w = t.rand(1, 1, requires_grad=True)
b = t.zeros(1, 1, requires_grad=True)
lr = 0.00001
shown = []
for ii in range(200):
    x, y = get_fake_data()
    y_pred = x.mm(w) + b.expand_as(y)
    loss = 0.5 * (y_pred - y) ** 2
    loss = loss.sum()
    loss.backward()
    w.data.sub_(lr * w.grad.data)
    b.data.sub_(lr * b.grad.data)
    w.grad.data.zero_()
    b.grad.data.zero_()
    if ii % 50 == 0:
        line = t.arange(0, 6).float().view(-1, 1)
        guess = line.mm(w.data) + b.data.expand_as(line)
        shown.append(plot(line.numpy(), guess.numpy()))
print(w.item(), b.item())
