import copy

import torch
from torch import nn

from ppo import PPOTrainer


class ValueHeadModel(nn.Module):
    def __init__(self, vocab=11, dim=8):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm, self.v = nn.Linear(dim, vocab), nn.Linear(dim, 1)

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        return self.lm(h), self.v(h).squeeze(-1)


model = ValueHeadModel()
trainer = PPOTrainer(model, copy.deepcopy(model), ppo_epochs=2)
for _ in range(2):
    q, r = torch.randint(11, (4, 3)), torch.randint(11, (4, 4))
    print(sum(trainer.step(q, r, torch.randn(4))))
