"""Knowledge-graph embedding (TransE)."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class TransE(nn.Module):
    def __init__(self, entities, relations, dim=8, margin=1.0):
        super().__init__()
        self.entities = nn.Embedding(entities, dim)
        self.relations = nn.Embedding(relations, dim)
        self.margin = margin
        nn.init.xavier_uniform_(self.entities.weight)
        nn.init.xavier_uniform_(self.relations.weight)

    def distance(self, head, relation, tail):
        return (self.entities(head) + self.relations(relation) - self.entities(tail)).norm(p=1, dim=1)

    def forward(self, positive, negative):
        return F.relu(self.margin + self.distance(*positive.t()) - self.distance(*negative.t())).mean()


class Trainer:
    def __init__(self, model, loader, n_entities, lr=0.05):
        self.model = model
        self.loader = loader
        self.n_entities = n_entities
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.epoch_losses = []

    def corrupt(self, triples):
        negative = triples.clone()
        column = 0 if torch.rand(()) < 0.5 else 2
        negative[:, column] = torch.randint(0, self.n_entities, (len(triples),))
        return negative

    def train_one_step(self, triples):
        self.optimizer.zero_grad()
        loss = self.model(triples, self.corrupt(triples))
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def run(self, epochs):
        for epoch in range(epochs):
            res = 0.0
            for (triples,) in self.loader:
                res += self.train_one_step(triples)
            self.epoch_losses.append(res)
            print(f"Epoch {epoch} | loss: {res:f}")


def main():
    torch.manual_seed(0)
    triples = torch.stack([torch.randint(0, 15, (48,)), torch.randint(0, 4, (48,)), torch.randint(0, 15, (48,))], dim=1)
    loader = DataLoader(TensorDataset(triples), batch_size=12, shuffle=True)
    trainer = Trainer(TransE(15, 4), loader, n_entities=15)
    trainer.run(epochs=2)
    return trainer


if __name__ == "__main__":
    trainer = main()

# torch: all(isinstance(loss, float) for loss in trainer.epoch_losses)
