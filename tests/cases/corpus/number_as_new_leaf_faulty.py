import torch
from torch import nn


def f1_of(pred, target):
    tp = ((pred == 1) & (target == 1)).sum().item()
    fp = ((pred == 1) & (target == 0)).sum().item()
    fn = ((pred == 0) & (target == 1)).sum().item()
    return 2 * tp / max(2 * tp + fp + fn, 1)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 2)

    def forward(self, x):
        return self.lin(x)


torch.manual_seed(0)
model = Tagger()
start = model.lin.weight.detach().clone()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
for epoch in range(3):
    x, y = torch.randn(20, 4), torch.randint(0, 2, (20,))
    logits = model(x)
    score = f1_of(logits.argmax(dim=1), y)
    loss = torch.tensor(1.0 - score, requires_grad=True)  # warning: [rewrapped-loss]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
# torch: torch.equal(start, model.lin.weight)
