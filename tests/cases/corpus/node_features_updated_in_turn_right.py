import torch
import torch.nn as nn


class Propagate(nn.Module):
    """Updates the nodes of a tree from the leaves to the root."""

    def __init__(self, dim):
        super().__init__()
        self.message = nn.Linear(dim, dim)
        self.update = nn.Linear(2 * dim, dim)

    def forward(self, nodes, parents):
        hidden = list(torch.tanh(self.message(nodes)).unbind())
        for child in range(len(parents) - 1, 0, -1):
            parent = parents[child]
            mixed = torch.cat([hidden[parent], hidden[child]])
            hidden[parent] = torch.tanh(self.update(mixed))
        return hidden[0]


class Classifier(nn.Module):
    def __init__(self, vocab=12, dim=6, classes=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.tree = Propagate(dim)
        self.out = nn.Linear(dim, classes)

    def forward(self, words, parents):
        return self.out(self.tree(self.embed(words), parents))


model = Classifier()
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
for step in range(2):
    words, parents = torch.randint(0, 12, (5,)), [0, 0, 0, 1, 1]
    loss = nn.functional.cross_entropy(model(words, parents).unsqueeze(0), torch.tensor([step % 2]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
