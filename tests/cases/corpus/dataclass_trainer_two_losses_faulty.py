from dataclasses import dataclass, field
from typing import Callable, List

import torch
import torch.nn as nn


@dataclass
class TrainConfig:
    lr: float = 1e-3
    epochs: int = 2
    batch_size: int = 4
    losses: List[str] = field(default_factory=lambda: ["recon", "cls"])


@dataclass
class Trainer:
    model: nn.Module
    config: TrainConfig
    history: list = field(default_factory=list)

    def __post_init__(self):
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=self.config.lr)
        self.criteria = {"recon": nn.MSELoss(), "cls": nn.CrossEntropyLoss()}

    def compute(self, name: str, outputs, x, y):
        target = x if name == "recon" else y
        return self.criteria[name](outputs[name], target)

    def train_step(self, x, y):
        outputs = self.model(x)
        self.optimizer.zero_grad()
        for name in self.config.losses:
            loss = self.compute(name, outputs, x, y)
            loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
        self.optimizer.step()
        return loss.detach()

    def fit(self, batches):
        for epoch in range(self.config.epochs):
            for x, y in batches:
                self.history.append(self.train_step(x, y).item())


class MultiHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(6, 12), nn.GELU())
        self.dec = nn.Linear(12, 6)
        self.cls = nn.Linear(12, 3)

    def forward(self, x):
        h = self.enc(x)
        return {"recon": self.dec(h), "cls": self.cls(h)}


trainer = Trainer(MultiHead(), TrainConfig())
trainer.fit([(torch.randn(4, 6), torch.randint(0, 3, (4,))) for _ in range(3)])
