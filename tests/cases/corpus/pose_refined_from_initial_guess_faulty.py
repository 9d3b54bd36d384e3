import torch
import torch.nn as nn


def rotation(angle):
    c, s = torch.cos(angle), torch.sin(angle)
    return torch.stack([torch.stack([c, -s]), torch.stack([s, c])])


class PoseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 3))

    def forward(self, points):
        return self.net(points.flatten())


torch.manual_seed(2)
model_points = torch.randn(6, 2)
target = model_points @ rotation(torch.tensor(0.4)).t() + torch.tensor([0.3, -0.1])
net = PoseNet()
guess = net(target)
angle, shift = guess[0], guess[1:]
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for it in range(4):
    placed = model_points @ rotation(angle).t() + shift
    error = (placed - target).pow(2).sum(1).mean()
    optimizer.zero_grad()
    error.backward()  # error: [carried-graph] # raises: RuntimeError "second time"
    optimizer.step()
    print(it, error.item(), angle.item())
