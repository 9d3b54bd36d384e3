import torch
import torch.nn as nn

from .memory import NodeMemory


class TemporalGraphNetwork(nn.Module):
    def __init__(self, n_nodes, dim, event_dim):
        super().__init__()
        self.memory = NodeMemory(n_nodes, dim, event_dim)
        self.embed = nn.Embedding(n_nodes, dim)
        self.predict = nn.Sequential(nn.Linear(2 * dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def represent(self, nodes):
        return self.memory.read(nodes) + self.embed(nodes)

    def score(self, src, dst):
        pair = torch.cat([self.represent(src), self.represent(dst)], dim=-1)
        return self.predict(pair).squeeze(-1)
