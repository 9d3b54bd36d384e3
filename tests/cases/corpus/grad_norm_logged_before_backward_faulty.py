import logging
import torch
from torch import nn

logger = logging.getLogger("train")


def layer_gradients(loss, model):
    """The norm of the gradient of each layer, for the log."""
    names, params = zip(*[(n, p) for n, p in model.named_parameters() if p.requires_grad])
    grads = torch.autograd.grad(loss, params)
    return {n: g.norm().item() for n, g in zip(names, grads)}


class Trainer:
    def __init__(self, model, criterion, lr=0.1, log_every=2):
        self.model, self.criterion, self.log_every = model, criterion, log_every
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.records = []

    def train(self, loader):
        for i, (x, y) in enumerate(loader):
            loss = self.criterion(self.model(x), y)
            if i % self.log_every == 0:
                norms = layer_gradients(loss, self.model)
                self.records.append(norms)
                logger.info("step %d: %s", i, norms)
            self.optimizer.zero_grad()
            loss.backward()  # error: [double-backward] # raises: RuntimeError
            self.optimizer.step()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 6), nn.Hardswish(), nn.Linear(6, 2))
Trainer(net, nn.CrossEntropyLoss()).train([(torch.randn(3, 4), torch.randint(0, 2, (3,))) for _ in range(4)])
