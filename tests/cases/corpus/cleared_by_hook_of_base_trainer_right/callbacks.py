class GradientReset:
    def on_after_step(self, trainer):
        trainer.optimizer.zero_grad()


class History:
    def __init__(self):
        self.losses = []

    def on_after_backward(self, trainer, loss):
        self.losses.append(loss.item())
