import torch
from torch import nn
import torch.nn.functional as F


class ProtoNet(nn.Module):
    prototypes = None

    def __init__(self, dim, n_way):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, 8))
        self.n_way = n_way

    @classmethod
    def update_prototypes(cls, protos, momentum=0.9):
        if cls.prototypes is None:
            cls.prototypes = protos
        else:
            cls.prototypes = momentum * cls.prototypes + (1 - momentum) * protos
        return cls.prototypes

    def forward(self, support, query):
        z = self.encoder(support).view(self.n_way, -1, 8).mean(1)
        protos = self.update_prototypes(z)
        return -torch.cdist(self.encoder(query), protos + z)


net = ProtoNet(4, 3)
opt = torch.optim.Adam(net.parameters())
for episode in range(3):
    support, query, labels = torch.randn(6, 4), torch.randn(5, 4), torch.randint(0, 3, (5,))
    loss = F.cross_entropy(net(support, query), labels)
    opt.zero_grad()
    loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
    opt.step()
