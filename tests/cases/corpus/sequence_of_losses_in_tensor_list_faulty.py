from typing import Dict, List

import torch
from torch import Tensor, nn


class Node:
    """A step of a pipeline: a module, a loss and an optimizer of its own (layer-wise training)."""

    def __init__(self, module: nn.Module, probe: nn.Module, lr: float) -> None:
        self.module, self.probe = module, probe
        self.optim = torch.optim.SGD([*module.parameters(), *probe.parameters()], lr=lr)
        self.log: List[float] = []

    def train(self, x: Tensor, y: Tensor) -> Tensor:
        h = torch.relu(self.module(x))
        loss = nn.functional.cross_entropy(self.probe(h), y)
        self.optim.zero_grad()
        loss.backward()  # error: [carried-graph] # raises: RuntimeError
        self.optim.step()
        self.log.append(loss.item())
        return h


class Greedy:
    def __init__(self, widths: List[int], classes: int) -> None:
        self.nodes = [Node(nn.Linear(a, b), nn.Linear(b, classes), 0.1) for a, b in zip(widths, widths[1:])]

    def fit_batch(self, x: Tensor, y: Tensor) -> Dict[int, float]:
        for node in self.nodes:
            x = node.train(x, y)
        return {i: node.log[-1] for i, node in enumerate(self.nodes)}


torch.manual_seed(0)
model = Greedy([5, 8, 6], 3)
for _ in range(3):
    print(model.fit_batch(torch.randn(7, 5), torch.randint(0, 3, (7,))))
