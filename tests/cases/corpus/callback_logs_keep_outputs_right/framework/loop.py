import torch


class Loop:
    def __init__(self, model, loss_fn, optimizer, callbacks=()):
        self.model, self.loss_fn, self.optimizer = model, loss_fn, optimizer
        self.callbacks = list(callbacks)
        self.state = {"epoch": 0, "step": 0, "stop": False}

    def fire(self, event):
        for callback in self.callbacks:
            getattr(callback, event)(self.state)

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.state["epoch"] = epoch
            for x, y in loader:
                self.state["step"] += 1
                self.optimizer.zero_grad()
                self.state["loss"] = self.loss_fn(self.model(x), y)
                self.state["loss"].backward()
                self.optimizer.step()
                self.fire("on_batch_end")
            self.fire("on_epoch_end")
            if self.state["stop"]:
                break
        return self.state
