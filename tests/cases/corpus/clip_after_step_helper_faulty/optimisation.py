import torch


class OptimizerWithClip:
    """Puts an optimizer, a schedule and clipping together."""

    def __init__(self, params, lr, max_norm, warmup=4):
        self.params = [p for p in params if p.requires_grad]
        self.inner = torch.optim.AdamW(self.params, lr=lr)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.inner, lambda s: min(1.0, (s + 1) / warmup))
        self.max_norm = max_norm
        self.norms = []

    def zero_grad(self):
        self.inner.zero_grad()

    def step(self):
        self.inner.step()
        norm = torch.nn.utils.clip_grad_norm_(self.params, self.max_norm)  # warning: [clip-without-gradient]
        self.schedule.step()
        self.norms.append(norm.item())
