import torch
import torch.nn as nn


class Tree:
    def __init__(self, idx, children=()):
        self.idx = idx
        self.children = list(children)
        self.state = None

    def __iter__(self):
        for c in self.children:
            yield from c
        yield self


class ChildSumTreeLSTM(nn.Module):
    def __init__(self, in_dim, mem_dim):
        super().__init__()
        self.mem_dim = mem_dim
        self.ioux = nn.Linear(in_dim, 3 * mem_dim)
        self.iouh = nn.Linear(mem_dim, 3 * mem_dim)
        self.fx, self.fh = nn.Linear(in_dim, mem_dim), nn.Linear(mem_dim, mem_dim)

    def node_forward(self, inputs, child_c, child_h):
        child_h_sum = torch.sum(child_h, dim=0, keepdim=True)
        i, o, u = (self.ioux(inputs) + self.iouh(child_h_sum)).chunk(3, dim=1)
        i, o, u = i.sigmoid(), o.sigmoid(), u.tanh()
        f = torch.sigmoid(self.fh(child_h) + self.fx(inputs).repeat(len(child_h), 1))
        c = i * u + torch.sum(f * child_c, dim=0, keepdim=True)
        return c, o * torch.tanh(c)

    def forward(self, tree, inputs):
        for child in tree.children:
            self.forward(child, inputs)
        if not tree.children:
            child_c = child_h = torch.zeros(1, self.mem_dim)
        else:
            child_c = torch.cat([c.state[0] for c in tree.children])
            child_h = torch.cat([c.state[1] for c in tree.children])
        tree.state = self.node_forward(inputs[tree.idx].unsqueeze(0), child_c, child_h)
        return tree.state


tree = Tree(0, [Tree(1), Tree(2, [Tree(3)])])
model, clf = ChildSumTreeLSTM(4, 6), nn.Linear(6, 2)
emb = nn.Embedding(10, 4)
optimizer = torch.optim.Adagrad([*model.parameters(), *clf.parameters(), *emb.parameters()], lr=0.05)
for epoch in range(2):
    optimizer.zero_grad()
    c, h = model(tree, emb(torch.tensor([1, 2, 3, 4])))
    loss = nn.functional.cross_entropy(clf(h), torch.tensor([1]))
    loss.backward()
    optimizer.step()
