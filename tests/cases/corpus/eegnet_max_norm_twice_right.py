import torch
from torch import nn
import torch.nn.functional as F


class Conv2dWithConstraint(nn.Conv2d):
    def __init__(self, *args, max_norm=1.0, **kwargs):
        self.max_norm = max_norm
        super().__init__(*args, **kwargs)

    def forward(self, x):
        self.weight.data = torch.renorm(self.weight.data, p=2, dim=0, maxnorm=self.max_norm)
        return super().forward(x)


class EEGNet(nn.Module):
    def __init__(self, chans, samples, dim=4):
        super().__init__()
        self.temporal = nn.Conv2d(1, 4, (1, 5), padding="same", bias=False)
        self.spatial = Conv2dWithConstraint(4, 8, (chans, 1), groups=4, bias=False)
        self.fc = nn.Linear(8 * (samples // 4), dim)

    def forward(self, x):
        x = F.elu(self.spatial(self.temporal(x)))
        return self.fc(F.avg_pool2d(x, (1, 4)).flatten(1))


torch.manual_seed(1)
net = EEGNet(3, 16)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(3):
    anchor, positive, negative = (torch.randn(4, 1, 3, 16) for _ in range(3))
    a, p, n = net(torch.cat([anchor, positive, negative])).chunk(3)
    loss = F.triplet_margin_loss(a, p, n)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
