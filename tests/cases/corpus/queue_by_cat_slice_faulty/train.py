import torch
import torch.nn.functional as F
from torch import nn

from selfsup.loss import info_nce
from selfsup.queue import NegativeQueue


def make_encoder():
    return nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 5))


@torch.no_grad()
def momentum_update(q, k, m=0.9):
    for a, b in zip(q.parameters(), k.parameters()):
        b.data = b.data * m + a.data * (1.0 - m)


torch.manual_seed(0)
enc_q, enc_k = make_encoder(), make_encoder()
enc_k.load_state_dict(enc_q.state_dict())
queue = NegativeQueue(5, 16)
optimizer = torch.optim.SGD(enc_q.parameters(), lr=0.05)
for step in range(4):
    x = torch.randn(4, 6)
    q = F.normalize(enc_q(x + 0.1 * torch.randn_like(x)), dim=1)
    k = F.normalize(enc_k(x), dim=1)
    loss = info_nce(q, k, queue.keys)
    optimizer.zero_grad()
    loss.backward()  # error: [carried-graph] # raises: RuntimeError
    optimizer.step()
    momentum_update(enc_q, enc_k)
    queue.push(k)
