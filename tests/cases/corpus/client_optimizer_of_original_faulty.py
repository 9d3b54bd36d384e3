"""A federated client that trains a copy, with an optimizer of the original."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Client(object):
    def __init__(self, model, data, lr=0.1):
        self.model = copy.deepcopy(model)
        self.data = data
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)

    def update(self, epochs):
        self.model.train()
        for _ in range(epochs):
            for x, y in self.data:
                self.optimizer.zero_grad()
                loss = F.cross_entropy(self.model(x), y)
                loss.backward()
                self.optimizer.step()  # warning: [step-without-backward]
        return self.model.state_dict()


def average(states):
    out = copy.deepcopy(states[0])
    for key in out:
        for other in states[1:]:
            out[key] += other[key]
        out[key] = torch.div(out[key], len(states))
    return out


def main(rounds=2):
    torch.manual_seed(0)
    server = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    start = copy.deepcopy(server.state_dict())
    batches = lambda: [(torch.randn(8, 4), torch.randint(0, 2, (8,))) for _ in range(3)]
    clients = [Client(server, batches()) for _ in range(2)]
    for r in range(rounds):
        states = [client.update(1) for client in clients]
        server.load_state_dict(average(states))
        print("round", r)
    return start, server.state_dict()


start, end = main()

# torch: torch.equal(start["0.weight"], end["0.weight"])
