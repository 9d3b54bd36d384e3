class GradientReset:
    def on_after_backward(self, trainer, loss):
        trainer.optimizer.zero_grad()  # warning: [zero-grad-before-step]


class History:
    def __init__(self):
        self.losses = []

    def on_after_backward(self, trainer, loss):
        self.losses.append(loss.item())
