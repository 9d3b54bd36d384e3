import torch
from torch import nn

CONFIG = """
lr = 0.05
hidden = 8
reduction = 'none'
"""
settings = {}
exec(CONFIG, settings)

model = nn.Sequential(nn.Linear(3, settings["hidden"]), nn.ReLU(), nn.Linear(settings["hidden"], 3))
opt = torch.optim.SGD(model.parameters(), lr=settings["lr"])
criterion = nn.CrossEntropyLoss(reduction=settings["reduction"])
for _ in range(2):
    x, y = torch.randn(6, 3), torch.randint(0, 3, (6,))
    with torch.no_grad():
        probs = model(x)
    loss = criterion(probs, y).mean()
    opt.zero_grad()
    loss.backward()  # error: [detached-loss] # raises: RuntimeError "does not require grad"
    opt.step()
