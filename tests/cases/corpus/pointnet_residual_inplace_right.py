import torch
from torch import nn
import torch.nn.functional as F


class ResBlock(nn.Module):
    expansion = 1

    def __init__(self, channels, norm=nn.BatchNorm1d):
        super().__init__()
        self.conv1 = nn.Conv1d(channels, channels, 1, bias=False)
        self.bn1 = norm(channels)
        self.conv2 = nn.Conv1d(channels, channels, 1, bias=False)
        self.bn2 = norm(channels)
        self.act = nn.Sigmoid()

    def forward(self, x):
        identity = x
        out = self.act(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        gate = self.act(out) * identity
        return gate + out


class PointNet(nn.Module):
    def __init__(self, num_classes, depth=2, width=8):
        super().__init__()
        self.stem = nn.Conv1d(3, width, 1)
        self.blocks = nn.Sequential(*[ResBlock(width) for _ in range(depth)])
        self.head = nn.Linear(width, num_classes)

    def forward(self, pts):
        x = self.stem(pts.transpose(2, 1))
        x = self.blocks(x)
        x = torch.max(x, 2)[0]
        return F.log_softmax(self.head(x), dim=-1)


class AverageMeter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count


def train_one_epoch(net, loader, opt, device):
    meter = AverageMeter()
    net.train()
    for pts, target in loader:
        pts, target = pts.to(device), target.to(device)
        opt.zero_grad(set_to_none=True)
        logits = net(pts)
        loss = F.nll_loss(logits, target)
        loss.backward()
        opt.step()
        meter.update(loss.item(), pts.size(0))
    return meter.avg


def main():
    device = torch.device("cpu")
    net = PointNet(4).to(device)
    opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    loader = [(torch.rand(4, 16, 3), torch.randint(0, 4, (4,))) for _ in range(2)]
    for epoch in range(2):
        print(epoch, train_one_epoch(net, loader, opt, device))


if __name__ == "__main__":
    main()
