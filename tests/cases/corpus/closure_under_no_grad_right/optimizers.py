import torch
from torch.optim import Optimizer


class Lookahead(Optimizer):
    """Gradient descent whose slow weights follow the fast ones every few steps."""

    def __init__(self, params, lr=0.1, sync_every=5, alpha=0.5):
        super().__init__(params, dict(lr=lr, sync_every=sync_every, alpha=alpha))
        self.counter = 0

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self.counter += 1
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.add_(p.grad, alpha=-group["lr"])
                state = self.state[p]
                if "slow" not in state:
                    state["slow"] = p.clone()
                if self.counter % group["sync_every"] == 0:
                    state["slow"].lerp_(p, group["alpha"])
                    p.copy_(state["slow"])
        return loss
