import torch
import torch.nn as nn
import torch.nn.functional as F


class Meter:
    def __init__(self):
        self.values = {}

    def update(self, **losses):
        for name, value in losses.items():
            self.values.setdefault(name, []).append(float(value))

    def last(self):
        return {name: round(values[-1], 3) for name, values in self.values.items()}


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Linear(8, 3), nn.Linear(3, 8)

    def forward(self, x):
        code = torch.relu(self.down(x))
        return self.up(code), code

    def losses(self, x):
        out, code = self(x)
        terms = {"rec": F.mse_loss(out, x), "sparse": 1e-2 * code.abs().mean()}
        return {name: term.detach() for name, term in terms.items()}


def fit(model, steps=2):
    meter = Meter()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(steps):
        terms = model.losses(torch.rand(4, 8))
        meter.update(**terms)
        loss = sum(terms.values())
        optimizer.zero_grad()
        loss.backward()  # error: [detached-loss] # raises: RuntimeError "does not require grad"
        optimizer.step()
        print(meter.last())


fit(Autoencoder())
