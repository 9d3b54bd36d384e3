class Callback:
    def on_batch_end(self, state):
        pass

    def on_epoch_end(self, state):
        pass


class History(Callback):
    def __init__(self):
        self.batches = []
        self.epochs = []

    def on_batch_end(self, state):
        self.batches.append(state["loss"])  # warning: [live-accumulator]

    def on_epoch_end(self, state):
        self.epochs.append(sum(float(b) for b in self.batches) / len(self.batches))


class EarlyStopping(Callback):
    def __init__(self, patience=3):
        self.patience, self.bad, self.best = patience, 0, float("inf")

    def on_epoch_end(self, state):
        value = float(state["loss"])
        self.bad = 0 if value < self.best else self.bad + 1
        self.best = min(self.best, value)
        state["stop"] = self.bad >= self.patience
