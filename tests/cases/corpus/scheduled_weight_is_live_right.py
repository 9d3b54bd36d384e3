import torch
from torch import nn
import torch.nn.functional as F


class AutoLambda(nn.Module):
    """The weight of the consistency term grows as the supervised loss falls."""

    def __init__(self, alpha=0.3):
        super().__init__()
        self.alpha = alpha
        self.register_buffer("level", torch.ones(()))

    def forward(self, supervised, consistency):
        self.level = (1 - self.alpha) * self.level + self.alpha * supervised.detach()
        return supervised + torch.exp(-self.level) * consistency


class SemiSup:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Dropout(0.3), nn.Linear(10, 2))
        self.weigh = AutoLambda()
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.05)

    def train_step(self, labelled, unlabelled):
        x, y = labelled
        sup = F.cross_entropy(self.net(x), y)
        p, q = (self.net(unlabelled).softmax(-1) for _ in range(2))
        loss = self.weigh(sup, F.mse_loss(p, q))
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return {"sup": sup.item(), "level": self.weigh.level.item()}


torch.manual_seed(0)
s = SemiSup()
history = [s.train_step((torch.randn(4, 6), torch.randint(0, 2, (4,))), torch.randn(8, 6)) for _ in range(4)]
print(history[-1])
