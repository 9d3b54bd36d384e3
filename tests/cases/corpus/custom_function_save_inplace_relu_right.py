import torch
import torch.nn as nn


class MySwish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        result = i * torch.sigmoid(i)
        ctx.save_for_backward(i)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        i = ctx.saved_tensors[0]
        sigmoid_i = torch.sigmoid(i)
        return grad_output * (sigmoid_i * (1 + i * (1 - sigmoid_i)))


class MemoryEfficientSwish(nn.Module):
    def forward(self, x):
        return MySwish.apply(x)


class MBConv(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.expand = nn.Conv2d(ch, ch, 1)
        self.bn = nn.BatchNorm2d(ch)
        self.swish = MemoryEfficientSwish()

    def forward(self, x):
        y = self.bn(self.expand(x))
        out = self.swish(y)
        y = y + x
        return out + y


net = nn.Sequential(MBConv(3), MBConv(3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 2))
optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
for step in range(2):
    optimizer.zero_grad()
    out = net(torch.randn(2, 3, 6, 6))
    nn.functional.cross_entropy(out, torch.tensor([0, 1])).backward()
    optimizer.step()
