import math

import torch
import torch.nn as nn


def autopad(k, p=None):
    return k // 2 if p is None else p


class Conv(nn.Module):
    def __init__(self, c1, c2, k=1, s=1):
        super().__init__()
        self.conv = nn.Conv2d(c1, c2, k, s, autopad(k), bias=False)
        self.bn = nn.BatchNorm2d(c2)
        self.act = nn.SiLU(inplace=True)

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class Detect(nn.Module):
    def __init__(self, nc=2, anchors=((10, 13, 16, 30), (30, 61, 62, 45)), ch=(4, 8)):
        super().__init__()
        self.nc, self.no = nc, nc + 5
        self.nl, self.na = len(anchors), len(anchors[0]) // 2
        self.stride = torch.tensor([8.0, 16.0])
        self.m = nn.ModuleList(nn.Conv2d(x, self.no * self.na, 1) for x in ch)

    def forward(self, x):
        z = []
        for i in range(self.nl):
            y = self.m[i](x[i])
            bs, _, ny, nx = y.shape
            z.append(y.view(bs, self.na, self.no, ny, nx).permute(0, 1, 3, 4, 2).contiguous())
        return z


class Model(nn.Module):
    def __init__(self, nc=2):
        super().__init__()
        self.c1, self.c2 = Conv(3, 4, 3, 2), Conv(4, 8, 3, 2)
        self.detect = Detect(nc)
        self._initialize_biases()

    def _initialize_biases(self, cf=None):
        m = self.detect
        for mi, s in zip(m.m, m.stride):
            b = mi.bias.view(m.na, -1)
            b[:, 4] += math.log(8 / (640 / s) ** 2)  # error: [inplace-on-leaf] # raises: RuntimeError "leaf Variable"
            b[:, 5:] += math.log(0.6 / (m.nc - 0.99)) if cf is None else torch.log(cf / cf.sum())
            mi.bias = torch.nn.Parameter(b.view(-1), requires_grad=True)

    def forward(self, x):
        x1 = self.c1(x)
        return self.detect([x1, self.c2(x1)])


def compute_loss(preds):
    lobj = torch.zeros(1)
    for p in preds:
        lobj += nn.functional.binary_cross_entropy_with_logits(p[..., 4], torch.zeros_like(p[..., 4]))
    return lobj


if __name__ == "__main__":
    model = Model(nc=2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for i in range(2):
        loss = compute_loss(model(torch.rand(1, 3, 16, 16)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
