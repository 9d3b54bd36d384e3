import torch
import torch.nn as nn
import torch.nn.functional as F


class MessagePassing(nn.Module):
    def __init__(self, aggr="add"):
        super().__init__()
        self.aggr = aggr

    def propagate(self, edge_index, x, **kwargs):
        src, dst = edge_index
        msg = self.message(x[src], x[dst], dst, x.size(0))
        out = torch.zeros_like(x[:, : msg.size(-1)])
        return out.index_add(0, dst, msg)


class GATConv(MessagePassing):
    def __init__(self, in_channels, out_channels):
        super().__init__(aggr="add")
        self.lin = nn.Linear(in_channels, out_channels, bias=False)
        self.att = nn.Parameter(torch.empty(2 * out_channels))
        nn.init.uniform_(self.att)

    def forward(self, x, edge_index):
        return self.propagate(edge_index, x=self.lin(x))

    def message(self, x_j, x_i, index, n):
        alpha = F.leaky_relu((torch.cat([x_i, x_j], -1) * self.att).sum(-1), 0.2)
        alpha = alpha.exp()
        denom = torch.zeros(n).index_add(0, index, alpha)
        alpha /= denom[index] + 1e-16  # error: [inplace-on-saved]
        return x_j * alpha.unsqueeze(-1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = GATConv(5, 8)
        self.conv2 = GATConv(8, 3)

    def forward(self, data):
        x, edge_index = data["x"], data["edge_index"]
        x = F.elu(self.conv1(x, edge_index))
        return F.log_softmax(self.conv2(x, edge_index), dim=-1)


data = {"x": torch.randn(6, 5), "edge_index": torch.randint(0, 6, (2, 14)), "y": torch.randint(0, 3, (6,))}
train_mask = torch.tensor([True, True, True, True, False, False])
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=5e-4)


def train():
    model.train()
    optimizer.zero_grad()
    F.nll_loss(model(data)[train_mask], data["y"][train_mask]).backward()  # raises: RuntimeError "modified by an inplace operation"
    optimizer.step()


@torch.no_grad()
def test():
    model.eval()
    pred = model(data).argmax(1)
    return (pred[~train_mask] == data["y"][~train_mask]).float().mean().item()


for epoch in range(1, 4):
    train()
    print(f"Epoch: {epoch:03d}, Test: {test():.4f}")
