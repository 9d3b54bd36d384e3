import torch
from torch import nn

from utils.average_meter import AverageMeter


class Completion(nn.Module):
    def __init__(self, points=16):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 8))
        self.coarse = nn.Linear(8, points * 3)
        self.refine = nn.Linear(11, 3)

    def forward(self, partial):
        f = self.enc(partial).max(dim=1).values
        coarse = self.coarse(f).view(partial.size(0), -1, 3)
        refined = coarse + self.refine(torch.cat([coarse, f.unsqueeze(1).expand(-1, coarse.size(1), -1)], -1))
        return coarse, refined


def chamfer(a, b):
    d = torch.cdist(a, b)
    return d.min(1).values.mean() + d.min(2).values.mean()


class BaseRunner:
    def __init__(self, config):
        self.config = config
        self.epoch_idx = 0

    def build_models(self):
        raise NotImplementedError

    def runner(self):
        self.build_models()
        for self.epoch_idx in range(self.config["epochs"]):
            self.losses.reset()
            for batch_idx, (partial, gt) in enumerate(self.loader):
                self.train_step(batch_idx, partial, gt)
            self.report()

    def report(self):
        print(self.epoch_idx, [float(x) for x in self.losses.avg()])


class Runner(BaseRunner):
    def build_models(self):
        self.models = Completion()
        self.optimizer = torch.optim.Adam(self.models.parameters(), lr=1e-3)
        self.losses = AverageMeter(["CoarseLoss", "RefineLoss"])
        self.loader = [(torch.rand(2, 10, 3), torch.rand(2, 16, 3)) for _ in range(4)]

    def train_step(self, idx, partial, gt):
        coarse, refined = self.models(partial)
        coarse_loss, refine_loss = chamfer(coarse, gt), chamfer(refined, gt)
        loss = coarse_loss + refine_loss
        self.models.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.losses.update([coarse_loss, refine_loss])


runner = Runner({"epochs": 2})
runner.runner()
# torch: runner.losses._sum[0].requires_grad
