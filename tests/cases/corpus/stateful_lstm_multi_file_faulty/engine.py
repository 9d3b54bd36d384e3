import torch


class Engine:
    def __init__(self, model, optimizer, loss_fn):
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        self.history = []

    def _step(self, x, y):
        self.optimizer.zero_grad()
        loss = self.loss_fn(self.model(x), y)
        loss.backward()  # error: [carried-graph] # raises: RuntimeError "second time"
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()

    def fit(self, windows, epochs=1):
        for _ in range(epochs):
            self.model.reset_state()
            for x, y in windows:
                self.history.append(self._step(x, y))
        return self.history
