from .base import BaseTrainer


class SupervisedTrainer(BaseTrainer):
    def training_step(self, batch):
        x, y = batch
        loss = self.loss_fn(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        self.model.zero_grad()
