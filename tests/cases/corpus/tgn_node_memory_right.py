import torch
import torch.nn as nn
import torch.nn.functional as F


class Memory(nn.Module):
    def __init__(self, n_nodes, dim):
        super().__init__()
        self.n_nodes, self.dim = n_nodes, dim
        self.__init_memory__()

    def __init_memory__(self):
        self.memory = nn.Parameter(torch.zeros(self.n_nodes, self.dim), requires_grad=False)
        self.last_update = nn.Parameter(torch.zeros(self.n_nodes), requires_grad=False)

    def get_memory(self, idxs):
        return self.memory[idxs, :]

    def set_memory(self, idxs, values):
        self.memory[idxs, :] = values

    def detach_memory(self):
        self.memory.detach_()


class TGN(nn.Module):
    def __init__(self, n_nodes, dim, edge_dim):
        super().__init__()
        self.memory = Memory(n_nodes, dim)
        self.updater = nn.GRUCell(dim + edge_dim, dim)
        self.score = nn.Sequential(nn.Linear(2 * dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def update_memory(self, src, dst, edge_features):
        for a, b in ((src, dst), (dst, src)):
            message = torch.cat([self.memory.get_memory(b), edge_features], dim=1)
            self.memory.set_memory(a, self.updater(message, self.memory.get_memory(a)))

    def forward(self, src, dst, neg, edge_features):
        self.update_memory(src, dst, edge_features)
        s, d, n = (self.memory.get_memory(i) for i in (src, dst, neg))
        return self.score(torch.cat([s, d], 1)).squeeze(1), self.score(torch.cat([s, n], 1)).squeeze(1)


def batches(num, n_nodes, size):
    for _ in range(num):
        perm = torch.randperm(n_nodes)
        yield perm[:size], perm[size : 2 * size], torch.randint(0, n_nodes, (size,)), torch.rand(size, 2)


def run(epochs=1, n_nodes=12):
    tgn = TGN(n_nodes, 4, 2)
    optimizer = torch.optim.Adam(tgn.parameters(), lr=1e-3)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(epochs):
        tgn.memory.__init_memory__()
        m_loss = []
        for src, dst, neg, feat in batches(4, n_nodes, 4):
            optimizer.zero_grad()
            pos_score, neg_score = tgn(src, dst, neg, feat)
            loss = criterion(pos_score, torch.ones_like(pos_score)) + criterion(neg_score, torch.zeros_like(neg_score))
            loss.backward()
            optimizer.step()
            m_loss.append(loss.item())
            tgn.memory.detach_memory()
        print("epoch", epoch, sum(m_loss) / len(m_loss))


run()
