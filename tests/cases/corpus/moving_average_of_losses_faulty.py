from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)
WINDOW = 4


class Predictor(nn.Module):
    def __init__(self, d=5):
        super().__init__()
        self.encoder = nn.GRU(d, 8, batch_first=True)
        self.project = nn.ModuleList(nn.Linear(8, d) for _ in range(2))

    def forward(self, x):
        out, _ = self.encoder(x[:, :-2])
        return [layer(out[:, -1]) for layer in self.project]


model = Predictor()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
recent = deque(maxlen=WINDOW)
for step in range(6):
    x = torch.randn(3, 7, 5)
    predictions = model(x)
    loss = sum(F.mse_loss(p, x[:, -2 + i]) for i, p in enumerate(predictions))
    recent.append(loss)
    smooth = sum(recent) / len(recent)
    optimizer.zero_grad()
    smooth.backward()  # error: [carried-graph] # raises: RuntimeError "second time"
    optimizer.step()
    print(f"{step}: {smooth.item():.4f}")
