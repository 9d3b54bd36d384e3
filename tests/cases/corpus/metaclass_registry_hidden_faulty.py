import torch
from torch import nn


class Registry(type):
    models = {}

    def __new__(mcs, name, bases, namespace):
        cls = super().__new__(mcs, name, bases, namespace)
        if name != "Base":
            Registry.models[name.lower()] = cls
        return cls


class Base(nn.Module, metaclass=Registry):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def loss(self, x, y):
        return nn.functional.mse_loss(self(x), y)


class Running(Base):
    def __init__(self, dim):
        super().__init__(dim)
        self.fc = nn.Linear(dim, dim)
        self.state = torch.zeros(1, dim)

    def forward(self, x):
        self.state = torch.tanh(self.fc(x) + self.state)
        out = self.state
        return out


def build(name, **kwargs):
    return Registry.models[name](**kwargs)


if __name__ == "__main__":
    model = build("running", dim=4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(3):
        optimizer.zero_grad()
        loss = model.loss(torch.randn(2, 4), torch.randn(2, 4))
        loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
        optimizer.step()
