import torch
from torch import nn
from framework import EarlyStopping, History, Loop

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
history = History()
loop = Loop(net, nn.SmoothL1Loss(), torch.optim.Adam(net.parameters()), [history, EarlyStopping()])
data = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(5)]
loop.fit(data, epochs=3)
print(history.epochs)
# torch: isinstance(history.batches[0], float)
