import torch
import torch.nn as nn


class Bottleneck(nn.Module):
    """Block whose intermediate results travel in a dict, as in attention-gated ResNets."""

    def __init__(self, planes, downsample=None):
        super().__init__()
        self.conv1 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.gate = nn.Sequential(nn.Conv2d(planes, planes, 1), nn.Sigmoid())
        self.downsample = downsample

    def forward(self, x):
        identity = x[0]
        out = self.relu(self.bn1(self.conv1(x[0])))
        att = self.gate(out)
        att *= x[1]  # error: [inplace-on-saved]
        if self.downsample is not None:
            identity = self.downsample(x[0])
        out_x = out * att + identity
        return {0: self.relu(out_x), 1: att}


class Net(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1)
        self.layer = nn.Sequential(*(Bottleneck(4) for _ in range(layers)))
        self.fc = nn.Linear(4, 5)

    def forward(self, x):
        x = self.stem(x)
        out = self.layer({0: x, 1: torch.ones(1, 4, 1, 1)})
        return self.fc(out[0].mean((2, 3)))


if __name__ == "__main__":
    net = Net([2][0])
    crit = nn.CrossEntropyLoss()
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for i in range(2):
        images, target = torch.randn(2, 3, 8, 8), torch.randint(0, 5, (2,))
        loss = crit(net(images), target)
        opt.zero_grad()
        loss.backward()  # raises: RuntimeError "modified by an inplace operation"
        opt.step()
