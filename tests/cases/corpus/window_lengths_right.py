from collections import deque

import torch
from torch import nn

cell, head = nn.LSTMCell(3, 6), nn.Linear(6, 3)
optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=1e-3)
recent = deque(maxlen=5)


def fit(stream, bptt):
    h = c = torch.zeros(2, 6)
    window = []
    for t in range(len(stream) - 1):
        h, c = cell(stream[t], (h, c))
        window.append((head(h) - stream[t + 1]).pow(2).mean())
        if len(window) < bptt:
            continue
        loss = sum(window) / len(window)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        h, c = h.detach(), c.detach()
        recent.append(loss.item())
        window = []
    if len(window) > 0 and len(recent) == recent.maxlen:
        optimizer.zero_grad()
        torch.stack(window).mean().backward()
        optimizer.step()
    return sum(recent) / len(recent)


print(fit(torch.randn(23, 2, 3), 4), fit(torch.randn(9, 2, 3), 8))
