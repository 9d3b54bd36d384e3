class BaseTrainer:
    def __init__(self, model, optimizer, loss_fn, cfg):
        self.model, self.optimizer, self.loss_fn, self.cfg = model, optimizer, loss_fn, cfg
        self.global_step = 0

    def before_step(self):
        pass

    def after_step(self):
        self.global_step += 1

    def fit(self, loader):
        for _ in range(self.cfg["epochs"]):
            for batch in loader:
                self.before_step()
                self.training_step(batch)
                self.after_step()

    def training_step(self, batch):
        raise NotImplementedError
