import torch
import torch.nn as nn

torch.manual_seed(1)
seq = torch.linspace(0, 6.28, 50)
hidden_size = 8
w_ih = nn.Parameter(torch.randn(1, hidden_size) * 0.1)
w_hh = nn.Parameter(torch.randn(hidden_size, hidden_size) * 0.1)
w_ho = nn.Parameter(torch.randn(hidden_size, 1) * 0.1)
params = [w_ih, w_hh, w_ho]
opt = torch.optim.SGD(params, lr=0.01)

hidden = torch.zeros(1, hidden_size)


def step_rnn(x):
    global hidden
    hidden = torch.tanh(x.view(1, 1) @ w_ih + hidden @ w_hh)
    return hidden @ w_ho


pos = 0
chunk = 5
n_iter = 0
while n_iter < 100:
    if pos + chunk + 1 >= len(seq):
        pos = 0
        hidden = torch.zeros(1, hidden_size)
    xs, ys = seq[pos : pos + chunk], seq[pos + 1 : pos + chunk + 1]
    loss = 0
    for x, y in zip(xs, ys):
        loss += (step_rnn(x) - y).pow(2).sum()
    opt.zero_grad()
    loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
    opt.step()
    pos += chunk
    n_iter += 1
    if n_iter % 10 == 0:
        print(n_iter, loss.item())
