import torch
from torch import nn

from base import BaseTrainer
from callbacks import GradientReset, History


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(8, 3), nn.Linear(3, 8)

    def forward(self, x):
        return self.dec(torch.tanh(self.enc(x)))


class ReconstructionTrainer(BaseTrainer):
    def compute_loss(self, batch):
        return nn.functional.mse_loss(self.model(batch), batch)


torch.manual_seed(0)
net = Autoencoder()
start = net.enc.weight.detach().clone()
history = History()
trainer = ReconstructionTrainer(net, torch.optim.SGD(net.parameters(), lr=0.1), [history, GradientReset()])
trainer.run([torch.rand(4, 8) for _ in range(3)], epochs=2)
# torch: not torch.equal(start, net.enc.weight)
