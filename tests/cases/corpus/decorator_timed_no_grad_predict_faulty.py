import functools
import time

import torch
from torch import nn


def timed(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        t0 = time.time()
        result = fn(*args, **kwargs)
        print(fn.__name__, time.time() - t0)
        return result

    return wrapper


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 8, batch_first=True)
        self.fc = nn.Linear(8, 1)

    @timed
    @torch.no_grad()
    def predict(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1])

    def fit(self, x, y, epochs=2):
        opt = torch.optim.Adam(self.parameters())
        loss_fn = nn.MSELoss()
        for epoch in range(epochs):
            opt.zero_grad()
            loss = loss_fn(self.predict(x), y)
            loss.backward()  # error: [detached-loss] # raises: RuntimeError "does not require grad"
            opt.step()


Forecaster().fit(torch.randn(4, 5, 1), torch.randn(4, 1))
