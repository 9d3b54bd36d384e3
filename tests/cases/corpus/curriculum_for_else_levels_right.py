import torch
from torch import nn

levels = [4, 6, 8]
model = nn.GRU(2, 6, batch_first=True)
head = nn.Linear(6, 1)
optim = torch.optim.Adam([*model.parameters(), *head.parameters()])
state = None

for level in levels:
    for attempt in range(50):
        x = torch.randn(3, level, 2)
        out, state = model(x, state)
        loss = (head(out[:, -1]) - x.sum((1, 2)).unsqueeze(1)).pow(2).mean()
        optim.zero_grad()
        loss.backward()
        optim.step()
        state = state.detach()
        if loss.item() < 1e-3:
            break
    else:
        print("level", level, "not solved")
