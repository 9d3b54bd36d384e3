import torch
from torch import nn


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(5, 12), nn.Linear(12, 4)

    def forward(self, x):
        return nn.functional.normalize(self.fc2(torch.relu(self.fc1(x))), dim=1)


class HardTriplets:
    def __init__(self, margin=0.3):
        self.margin = margin

    def mine(self, emb, labels):
        d = torch.cdist(emb, emb)
        same = labels.unsqueeze(0) == labels.unsqueeze(1)
        pos = (d * same).argmax(1)
        neg = (d + 1e6 * same).argmin(1)
        return pos, neg

    def __call__(self, emb, labels):
        pos, neg = self.mine(emb.detach(), labels)
        dp = (emb - emb[pos]).pow(2).sum(1)
        dn = (emb - emb[neg]).pow(2).sum(1)
        return torch.relu(dp - dn + self.margin).mean()


def epoch(model, sampler, loss_fn, opt):
    running = 0.0
    for x, labels in sampler:
        loss = loss_fn(model(x), labels)
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item()
    return running


net = Embedder()
pk = [(torch.rand(8, 5), torch.arange(4).repeat_interleave(2)) for _ in range(2)]
print(epoch(net, pk, HardTriplets(), torch.optim.Adam(net.parameters())))
