import collections

import torch
from torch import nn
import torch.nn.functional as F

bank = collections.OrderedDict()
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
opt = torch.optim.Adam(net.parameters())
triplet = nn.TripletMarginLoss(margin=0.2)


def remember(label, emb):
    bank[label] = emb.detach()
    bank.move_to_end(label)
    while len(bank) > 3:
        bank.popitem(last=False)


def hard_negative(label, anchor):
    others = [(k, v) for k, v in bank.items() if k != label]
    dists = [(anchor - v).norm().item() for _, v in others]
    return others[dists.index(min(dists))][1]


for step in range(8):
    label = step % 4
    x = torch.randn(4)
    anchor, positive = net(x), net(x + 0.1 * torch.randn(4))
    if len(bank) >= 2:
        loss = triplet(anchor[None], positive[None], hard_negative(label, anchor)[None])
        loss = loss + sum(F.relu(0.1 - (anchor - v).norm()) for k, v in bank.items() if k != label)
        opt.zero_grad()
        loss.backward()
        opt.step()
    remember(label, anchor)
