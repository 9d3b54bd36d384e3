import enum

import torch
from torch import nn


class Phase(enum.Enum):
    CRITIC = "critic"
    ACTOR = "actor"


class Learner:
    def __init__(self, obs, act):
        self.trunk = nn.Sequential(nn.Linear(obs, 16), nn.ELU())
        self.pi, self.v = nn.Linear(16, act), nn.Linear(16, 1)
        self.opts = {
            Phase.CRITIC: torch.optim.Adam([*self.trunk.parameters(), *self.v.parameters()]),
            Phase.ACTOR: torch.optim.Adam(self.pi.parameters()),
        }

    def loss(self, phase, feats, batch):
        match phase:
            case Phase.CRITIC:
                return (self.v(feats).squeeze(-1) - batch["ret"]).pow(2).mean()
            case Phase.ACTOR:
                logp = torch.log_softmax(self.pi(feats), -1)
                return -(logp.gather(1, batch["act"]) * batch["adv"]).mean()

    def update(self, batch):
        feats = self.trunk(batch["obs"])
        for phase in Phase:
            loss = self.loss(phase, feats, batch)
            self.opts[phase].zero_grad()
            loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
            self.opts[phase].step()


learner = Learner(4, 2)
for _ in range(2):
    n = 5
    learner.update(
        {"obs": torch.randn(n, 4), "ret": torch.rand(n), "act": torch.randint(0, 2, (n, 1)), "adv": torch.randn(n, 1)}
    )
