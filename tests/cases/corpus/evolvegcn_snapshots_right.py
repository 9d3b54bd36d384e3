import torch
import torch.nn.functional as F
from torch.nn import GRU, Linear, Parameter


class GCNConvFixedW(torch.nn.Module):
    def forward(self, W, x, adj):
        return adj @ (x @ W)


class EvolveGCNO(torch.nn.Module):
    def __init__(self, in_channels):
        super().__init__()
        self.in_channels = in_channels
        self.initial_weight = Parameter(torch.empty(1, in_channels, in_channels))
        self.weight = None
        self.recurrent_layer = GRU(input_size=in_channels, hidden_size=in_channels)
        self.conv_layer = GCNConvFixedW()
        self.reset_parameters()

    def reset_parameters(self):
        torch.nn.init.xavier_uniform_(self.initial_weight)

    def reinitialize_weight(self):
        self.weight = None

    def forward(self, X, adj):
        if self.weight is None:
            self.weight = self.initial_weight.data
        _, self.weight = self.recurrent_layer(self.weight, self.weight)
        return self.conv_layer(self.weight.squeeze(dim=0), X, adj)


class RecurrentGCN(torch.nn.Module):
    def __init__(self, node_features):
        super().__init__()
        self.recurrent = EvolveGCNO(node_features)
        self.linear = Linear(node_features, 1)

    def forward(self, x, adj):
        h = self.recurrent(x, adj)
        h = F.relu(h)
        return self.linear(h)


node_count, features = 6, 4
snapshots = [(torch.randn(node_count, features), torch.eye(node_count), torch.randn(node_count, 1)) for _ in range(5)]

model = RecurrentGCN(node_features=features)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
model.train()

for epoch in range(10):
    cost = 0
    model.recurrent.reinitialize_weight()
    for time, (x, adj, y) in enumerate(snapshots):
        y_hat = model(x, adj)
        cost = cost + torch.mean((y_hat - y) ** 2)
    cost = cost / (time + 1)
    cost.backward()
    optimizer.step()
    optimizer.zero_grad()
