class BaseTrainer:
    def __init__(self, model, optimizer, callbacks=()):
        self.model, self.optimizer = model, optimizer
        self.callbacks = list(callbacks)

    def notify(self, event, **info):
        for callback in self.callbacks:
            getattr(callback, event, lambda *a, **k: None)(self, **info)

    def compute_loss(self, batch):
        raise NotImplementedError

    def run_step(self, batch):
        loss = self.compute_loss(batch)
        loss.backward()
        self.notify("on_after_backward", loss=loss)
        self.optimizer.step()
        self.notify("on_after_step")
        return loss.item()

    def run(self, loader, epochs):
        for epoch in range(epochs):
            values = [self.run_step(batch) for batch in loader]
            print(epoch, sum(values) / len(values))
