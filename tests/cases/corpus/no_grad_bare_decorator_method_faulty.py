import torch
from torch import nn


class Predictor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))

    @torch.no_grad
    def probabilities(self, x):
        return self.net(x).softmax(-1)

    def forward(self, x):
        return self.net(x).log_softmax(-1)


def entropy(p):
    return -(p * p.clamp_min(1e-8).log()).sum(-1).mean()


model = Predictor()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(2):
    x = torch.randn(5, 4)
    # entropy minimisation on unlabelled data
    loss = entropy(model.probabilities(x))
    optimizer.zero_grad()
    loss.backward()  # error: [detached-loss] # raises: RuntimeError "does not require grad"
    optimizer.step()
