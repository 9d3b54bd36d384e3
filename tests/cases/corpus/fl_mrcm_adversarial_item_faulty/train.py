import copy
from types import SimpleNamespace

import torch
from torch.utils.data import TensorDataset

from models import Discriminator, Recon
from update import LocalUpdateMulti

args = SimpleNamespace(local_bs=4, local_ep=2, lr=1e-3, lam=0.1, rounds=2)


def clients():
    for _ in range(2):
        yield TensorDataset(torch.rand(8, 1, 6, 6), torch.rand(8, 1, 6, 6))


def average(states):
    total = copy.deepcopy(states[0])
    for key in total:
        for other in states[1:]:
            total[key] += other[key]
        total[key] = total[key] / len(states)
    return total


net_glob, discs = Recon(), [Discriminator(), Discriminator()]
for r in range(args.rounds):
    states = []
    target = next(clients())
    for disc, source in zip(discs, clients()):
        local = LocalUpdateMulti(args, source, target)
        state, loss = local.train(copy.deepcopy(net_glob), disc)
        states.append(copy.deepcopy(state))
    net_glob.load_state_dict(average(states))
    print(r, loss)
# torch: isinstance(loss, float)
