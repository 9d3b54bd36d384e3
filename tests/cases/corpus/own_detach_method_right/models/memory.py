import torch
import torch.nn as nn


class NodeMemory(nn.Module):
    """One vector a node, updated by a GRU from the events that the node takes part in."""

    def __init__(self, n_nodes, dim, event_dim):
        super().__init__()
        self.n_nodes, self.dim = n_nodes, dim
        self.gru = nn.GRUCell(event_dim, dim)
        self.state = torch.zeros(n_nodes, dim)

    def reset_state(self):
        self.state = torch.zeros(self.n_nodes, self.dim)

    def detach(self):
        self.state = self.state.detach()

    def read(self, nodes):
        return self.state[nodes]

    def update_state(self, src, dst, features):
        nodes = torch.cat([src, dst])
        updated = self.gru(torch.cat([features, features]), self.state[nodes])
        self.state = self.state.index_put((nodes,), updated)
