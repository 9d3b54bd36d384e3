import contextlib

import torch
from torch import nn


class Engine:
    def __init__(self, model, amp=False, freeze_backbone=True):
        self.model = model
        self.amp = amp
        self.freeze_backbone = freeze_backbone
        self.opt = torch.optim.SGD(model.parameters(), lr=0.01)

    def contexts(self):
        stack = contextlib.ExitStack()
        if self.amp:
            stack.enter_context(torch.autocast("cpu", dtype=torch.bfloat16))
        if self.freeze_backbone:
            stack.enter_context(torch.no_grad())
        return stack

    def step(self, x, y):
        with self.contexts():
            feats = self.model.backbone(x)
            logits = self.model.head(feats)
        loss = nn.functional.cross_entropy(logits, y)
        self.opt.zero_grad()
        loss.backward()  # error: [detached-loss] # raises: RuntimeError "does not require grad"
        self.opt.step()
        return loss.item()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.head = nn.Linear(8, 3)


engine = Engine(Net())
for _ in range(2):
    engine.step(torch.randn(5, 4), torch.randint(0, 3, (5,)))
