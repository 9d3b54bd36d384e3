import time
from abc import ABC

import torch
from torch import nn


class Callback(ABC):
    def on_epoch_begin(self, state): ...

    def on_batch_end(self, state): ...

    def on_epoch_end(self, state): ...


class LossRecorder(Callback):
    def __init__(self):
        self.batch_losses = []
        self.epoch_losses = []

    def on_epoch_begin(self, state):
        self.batch_losses.clear()

    def on_batch_end(self, state):
        self.batch_losses.append(state["loss"])  # warning: [live-accumulator]

    def on_epoch_end(self, state):
        self.epoch_losses.append(sum(float(x) for x in self.batch_losses) / len(self.batch_losses))


class Timer(Callback):
    def on_epoch_begin(self, state):
        self.start = time.perf_counter()

    def on_epoch_end(self, state):
        state["seconds"] = time.perf_counter() - self.start


class Loop:
    def __init__(self, model, optimizer, criterion, callbacks=()):
        self.model, self.optimizer, self.criterion = model, optimizer, criterion
        self.callbacks = list(callbacks)
        self.state = {}

    def _fire(self, event):
        for callback in self.callbacks:
            getattr(callback, event)(self.state)

    def fit(self, data, epochs):
        for epoch in range(epochs):
            self.state["epoch"] = epoch
            self._fire("on_epoch_begin")
            for x, y in data:
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(x), y)
                loss.backward()
                self.optimizer.step()
                self.state["loss"] = loss
                self._fire("on_batch_end")
            self._fire("on_epoch_end")


model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1))
recorder = LossRecorder()
loop = Loop(model, torch.optim.AdamW(model.parameters()), nn.SmoothL1Loss(), [recorder, Timer()])
loop.fit([(torch.rand(3, 4), torch.rand(3, 1)) for _ in range(4)], epochs=2)
print(recorder.epoch_losses)
# torch: recorder.batch_losses[0].grad_fn is not None
