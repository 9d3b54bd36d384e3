import math
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

cfg = dict(lr=1e-7, epochs=2, batch=8, clip=1.0, amp=False)


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.ln = nn.LayerNorm(d)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        return x + self.ff(self.ln(x))


def build(d=6):
    return nn.Sequential(Block(d), Block(d), nn.Linear(d, 1))


def train_epoch(net, loader, opt, scaler, sched, cfg, epoch):
    net.train()
    running = 0.0
    for step, (xb, yb) in enumerate(loader):
        opt.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=cfg["amp"]):
            loss = nn.functional.mse_loss(net(xb).squeeze(1), yb)
        nn.utils.clip_grad_norm_(net.parameters(), cfg["clip"])  # warning: [clip-without-gradient]
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        scaler.step(opt)
        scaler.update()
        sched.step()
        running += loss.item() * len(xb)
    return running / len(loader.dataset)


def main():
    torch.manual_seed(0)
    x = torch.randn(40, 6)
    loader = DataLoader(TensorDataset(x, 500 * x.sum(1)), cfg["batch"], shuffle=True)
    net = build()
    opt = optim.SGD(net.parameters(), lr=cfg["lr"])
    scaler = torch.amp.GradScaler("cpu", enabled=cfg["amp"])
    sched = optim.lr_scheduler.LambdaLR(opt, lambda s: 0.5 * (1 + math.cos(s / 10)))
    for epoch in range(cfg["epochs"]):
        print(epoch, train_epoch(net, loader, opt, scaler, sched, cfg, epoch))
    return sum(p.grad.norm() ** 2 for p in net.parameters()) ** 0.5


norm = main()
# torch: norm > 1.01
