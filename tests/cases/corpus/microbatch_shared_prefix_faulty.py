import torch
from torch import nn


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.context = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4))
        self.candidate = nn.Linear(4, 4)

    def score(self, context, candidates):
        return self.candidate(candidates) @ context.t()


class ChunkedTrainer:
    def __init__(self, model, chunks=2):
        self.model, self.chunks = model, chunks
        self.opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(self, query, candidates, gold):
        self.opt.zero_grad()
        context = self.model.context(query)
        total = 0.0
        for part, wanted in zip(candidates.chunk(self.chunks), gold.chunk(self.chunks)):
            logits = self.model.score(context, part).squeeze(-1)
            loss = nn.functional.binary_cross_entropy_with_logits(logits, wanted) / self.chunks
            loss.backward()  # error: [carried-graph] # raises: RuntimeError "second time"
            total += loss.item()
        self.opt.step()
        return total


trainer = ChunkedTrainer(Siamese())
for _ in range(2):
    print(trainer.step(torch.rand(1, 4), torch.rand(6, 4), torch.randint(0, 2, (6,)).float()))
