from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class TrainConfig:
    micro_steps: int = 4
    max_steps: int = 3
    lr: float = 1e-3
    clip: float = 1.0


class GPTTrainer:
    def __init__(self, model, cfg, data):
        self.model, self.cfg, self.data = model, cfg, data
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        self.step_no = 0

    def loss(self, batch):
        logits = self.model(batch[:, :-1])
        return nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())

    def run(self):
        history = []
        while self.step_no < self.cfg.max_steps:
            self.optimizer.zero_grad(set_to_none=True)
            total = 0.0
            for micro in range(self.cfg.micro_steps):
                loss = self.loss(next(self.data)) / self.cfg.micro_steps
                loss.backward()
                total += loss.item()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.clip)
            self.optimizer.step()
            self.step_no += 1
            history.append(total)
        return history


def batches():
    while True:
        yield torch.randint(12, (2, 6))


history = GPTTrainer(nn.Sequential(nn.Embedding(12, 8), nn.Linear(8, 12)), TrainConfig(), batches()).run()
