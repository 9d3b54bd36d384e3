import torch
import torch.nn as nn
import torch.nn.functional as F


class ProtoHead(nn.Module):
    def __init__(self, dim, classes, scale=16.0):
        super().__init__()
        self.prototypes = nn.Parameter(torch.randn(classes, dim))
        self.scale = scale

    def forward(self, features):
        self.prototypes /= self.prototypes.norm(dim=1, keepdim=True)  # error: [inplace-on-leaf] # raises: RuntimeError "a leaf Variable"
        return self.scale * F.normalize(features, dim=1) @ self.prototypes.t()


class Recogniser(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 16), nn.PReLU(), nn.Linear(16, 4))
        self.head = ProtoHead(4, 5)

    def forward(self, x):
        return self.head(self.body(x))


def run():
    net = Recogniser()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    for step in range(3):
        x, y = torch.randn(6, 10), torch.randint(0, 5, (6,))
        logits = net(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item(), (logits.argmax(1) == y).float().mean().item())


run()
