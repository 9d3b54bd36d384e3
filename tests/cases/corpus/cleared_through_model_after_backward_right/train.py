import torch
from torch import nn
from trainer import SupervisedTrainer

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 6), nn.Mish(), nn.Linear(6, 1))
before = [p.detach().clone() for p in model.parameters()]
trainer = SupervisedTrainer(model, torch.optim.SGD(model.parameters(), lr=0.1), nn.L1Loss(), {"epochs": 2})
trainer.fit([(torch.randn(5, 3), torch.randn(5, 1)) for _ in range(3)])
same = all(torch.equal(a, b) for a, b in zip(before, model.parameters()))
# torch: not same
