from concurrent.futures import ThreadPoolExecutor
import copy
import torch
from torch import nn


class Client:
    def __init__(self, model, data, lr):
        self.model = copy.deepcopy(model)
        self.data = data
        self.opt = torch.optim.SGD(self.model.parameters(), lr=lr)

    def train(self, rounds=1):
        total = 0.0
        for _ in range(rounds):
            for x, y in self.data:
                self.opt.zero_grad()
                loss = nn.functional.mse_loss(self.model(x), y)
                loss.backward()
                self.opt.step()
                total += loss.item()
        return total / len(self.data)

    def pull(self, state):
        self.model.load_state_dict(state)


class Server:
    def __init__(self, model, clients):
        self.model, self.clients = model, clients
        self.losses = []

    def aggregate(self):
        states = [c.model.state_dict() for c in self.clients]
        self.model.load_state_dict({k: torch.stack([s[k] for s in states]).mean(0) for k in states[0]})

    def round(self):
        for c in self.clients:
            c.pull(self.model.state_dict())
        with ThreadPoolExecutor(1) as pool:
            losses = list(pool.map(lambda c: c.train(), self.clients))
        self.aggregate()
        self.losses.append(losses)


torch.manual_seed(0)
net = nn.Linear(3, 1)
mk = lambda: [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(3)]
server = Server(net, [Client(net, mk(), 0.05) for _ in range(2)])
for _ in range(2):
    server.round()
# torch: isinstance(server.losses[0][0], float)
