import torch
import torch.nn as nn
import torch.nn.functional as F


class CAModel(nn.Module):
    def __init__(self, channels=6, hidden=16):
        super().__init__()
        self.channels = channels
        ident = torch.tensor([[0., 0, 0], [0, 1, 0], [0, 0, 0]])
        dx = torch.outer(torch.tensor([1., 2, 1]), torch.tensor([-1., 0, 1])) / 8
        kernel = torch.stack([ident, dx, dx.t()]).repeat(channels, 1, 1)[:, None]
        self.register_buffer("kernel", kernel)
        self.fc0 = nn.Conv2d(3 * channels, hidden, 1)
        self.fc1 = nn.Conv2d(hidden, channels, 1, bias=False)
        nn.init.zeros_(self.fc1.weight)

    def perceive(self, x):
        return F.conv2d(x, self.kernel, padding=1, groups=self.channels)

    def forward(self, x, steps, fire=0.5):
        for _ in range(steps):
            dx = self.fc1(F.relu(self.fc0(self.perceive(x))))
            x = x + dx * (torch.rand_like(x[:, :1]) < fire).float()
        return x


class SamplePool:
    def __init__(self, seed, size):
        self.x = seed.repeat(size, 1, 1, 1)
        self.size = size

    def sample(self, n):
        self.idx = torch.randperm(self.size)[:n]
        return self.x[self.idx]

    def commit(self, batch):
        self.x[self.idx] = batch.detach()


def train(steps=6):
    torch.manual_seed(0)
    seed = torch.zeros(1, 6, 5, 5)
    seed[:, 3:, 2, 2] = 1.0
    target = torch.rand(1, 4, 5, 5)
    ca = CAModel()
    opt = torch.optim.Adam(ca.parameters(), lr=2e-3)
    sched = torch.optim.lr_scheduler.MultiStepLR(opt, [4], 0.1)
    pool = SamplePool(seed, 4)
    log = []
    for i in range(steps):
        x0 = pool.sample(3)
        x0[:1] = seed
        x = ca(x0, 3)
        loss = (x[:, :4] - target).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        for p in ca.parameters():
            p.grad /= p.grad.norm() + 1e-8
        opt.step()
        sched.step()
        pool.commit(x)
        log.append(loss.item())
    return log


print(train())
