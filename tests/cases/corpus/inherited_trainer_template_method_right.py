import abc

import torch
from torch import nn


class BaseTrainer(abc.ABC):
    def __init__(self, model, lr=1e-3):
        self.model = model
        self.optimizer = self.build_optimizer(lr)
        self.state = {}

    def build_optimizer(self, lr):
        return torch.optim.Adam(self.model.parameters(), lr=lr)

    @abc.abstractmethod
    def compute_loss(self, batch): ...

    def on_step_end(self, batch, loss):
        pass

    def train(self, batches):
        for batch in batches:
            loss = self.compute_loss(batch)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.on_step_end(batch, loss)


class ConsistencyTrainer(BaseTrainer):
    def __init__(self, *args, momentum=0.5, **kwargs):
        super().__init__(*args, **kwargs)
        self.momentum = momentum

    def compute_loss(self, batch):
        x, y = batch
        out = self.model(x)
        loss = nn.functional.mse_loss(out, y)
        if "ensemble" in self.state:
            loss = loss + nn.functional.mse_loss(out, self.state["ensemble"])
        self._last = out
        return loss

    def on_step_end(self, batch, loss):
        prev = self.state.get("ensemble", torch.zeros_like(self._last))
        self.state["ensemble"] = self.momentum * prev + (1 - self.momentum) * self._last.detach()


ConsistencyTrainer(nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2)), lr=0.01).train(
    [(torch.randn(4, 2), torch.randn(4, 2)) for _ in range(4)]
)
