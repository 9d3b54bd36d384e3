import torch
from torch import nn
from torch.autograd import Function


class ScaledRound(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x, scale)
        return torch.round(x / scale) * scale

    @staticmethod
    def backward(ctx, grad):
        x, scale = ctx.saved_tensors
        inside = (x / scale).abs() <= 7
        return grad * inside, (grad * (torch.round(x / scale) - x / scale)).sum()


class QuantReLUConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(cout)
        self.scale = nn.Parameter(torch.tensor(0.1))
        self.act = nn.ReLU()

    def forward(self, x):
        x = self.bn(self.conv(x))
        q = ScaledRound.apply(x, self.scale)
        gate = self.act(x)
        return q * (gate > 0)


net = nn.Sequential(QuantReLUConv(1, 4), QuantReLUConv(4, 4), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for epoch in range(2):
    for _ in range(2):
        x, y = torch.rand(4, 1, 6, 6), torch.randint(3, (4,))
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
