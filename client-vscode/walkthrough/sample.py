"""A recurrent network on a long sequence, a piece at a time, with a mistake."""

import torch
from torch import nn

cell = nn.GRUCell(4, 8)
head = nn.Linear(8, 1)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()])
loader = [(torch.rand(2, 4), torch.rand(2, 1)) for _ in range(5)]

state = torch.zeros(2, 8)
for inputs, targets in loader:
    state = cell(inputs, state)
    loss = criterion(head(state), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
