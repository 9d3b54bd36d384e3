# Knowledge graph embedding with a margin, in the manner of a first attempt
import random
import torch
import torch.nn as nn

random.seed(1)
torch.manual_seed(1)

entities = [f"e{i}" for i in range(12)]
relations = ["likes", "knows", "owns"]
triples = [(random.choice(entities), random.choice(relations), random.choice(entities)) for _ in range(30)]
ent2id = {e: i for i, e in enumerate(entities)}
rel2id = {r: i for i, r in enumerate(relations)}


class TransE(nn.Module):
    def __init__(self, n_ent, n_rel, dim=10, margin=1.0):
        super().__init__()
        self.margin = margin
        self.ent = nn.Embedding(n_ent, dim)
        self.rel = nn.Embedding(n_rel, dim)
        nn.init.xavier_uniform_(self.ent.weight.data)
        nn.init.xavier_uniform_(self.rel.weight.data)

    def score(self, h, r, t):
        h, r, t = self.ent(torch.tensor(h)), self.rel(torch.tensor(r)), self.ent(torch.tensor(t))
        return torch.norm(h + r - t, p=2)

    def forward(self, pos, neg):
        return max(self.margin + self.score(*pos) - self.score(*neg), torch.zeros(()))


def corrupt(triple):
    h, r, t = triple
    if random.random() < 0.5:
        return random.randrange(len(entities)), r, t
    return h, r, random.randrange(len(entities))


model = TransE(len(entities), len(relations))
opt = torch.optim.SGD(model.parameters(), lr=0.05)

for epoch in range(3):
    random.shuffle(triples)
    epoch_loss = 0.0
    for start in range(0, len(triples), 5):
        batch = triples[start : start + 5]
        batch_loss = 0.0
        for h, r, t in batch:
            pos = (ent2id[h], rel2id[r], ent2id[t])
            batch_loss = batch_loss + model(pos, corrupt(pos))
        opt.zero_grad()
        batch_loss.backward()
        opt.step()
        epoch_loss += batch_loss.item()
    print(epoch, epoch_loss / len(triples))
