import torch
import torch.nn as nn


class FastSigmoid(torch.autograd.Function):
    """Heaviside forward, slope of the fast sigmoid backward."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x > 0).float()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output / (1 + 10 * x.abs()) ** 2


class LIF(nn.Module):
    def __init__(self, beta, threshold=1.0):
        super().__init__()
        self.beta = beta
        self.threshold = threshold
        self.mem = None

    def reset(self):
        self.mem = None

    def forward(self, current):
        if self.mem is None:
            self.mem = torch.zeros_like(current)
        self.mem = self.beta * self.mem + current
        spike = FastSigmoid.apply(self.mem - self.threshold)
        self.mem = self.mem - spike.detach() * self.threshold
        return spike
