import torch
from torch import nn

from objective import ranking_loss

torch.manual_seed(0)
scorer = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adagrad(scorer.parameters(), lr=0.1)
for epoch in range(3):
    docs, relevance = torch.randn(4, 6, 5), torch.randint(0, 3, (4, 6)).float()
    loss = ranking_loss(scorer(docs).squeeze(-1), relevance)
    optimizer.zero_grad()
    loss.backward()  # error: [detached-loss] # raises: RuntimeError
    optimizer.step()
print(f"{ranking_loss.total:.3f} s in the loss")
