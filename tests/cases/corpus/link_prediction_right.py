import torch
import torch.nn as nn
import torch.nn.functional as F


class GraphConv(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.linear = nn.Linear(in_dim, out_dim, bias=False)

    def forward(self, x, adj):
        return adj @ self.linear(x)


class Encoder(nn.Module):
    def __init__(self, in_dim, hidden, out_dim):
        super().__init__()
        self.conv1 = GraphConv(in_dim, hidden)
        self.conv2 = GraphConv(hidden, out_dim)

    def forward(self, x, adj):
        return self.conv2(F.relu(self.conv1(x, adj)), adj)


class LinkPredictor(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, z_i, z_j):
        return self.mlp(z_i * z_j).squeeze(-1)


def random_graph(nodes, edges):
    edge_index = torch.randint(0, nodes, (2, edges))
    adj = torch.eye(nodes)
    adj[edge_index[0], edge_index[1]] = 1.0
    adj[edge_index[1], edge_index[0]] = 1.0
    degree = adj.sum(dim=1)
    return edge_index, adj / torch.sqrt(degree[:, None] * degree[None, :])


def train(encoder, predictor, x, adj, pos_edges, optimizer, batch_size):
    encoder.train()
    predictor.train()
    total_loss = total_examples = 0
    for perm in torch.randperm(pos_edges.size(1)).split(batch_size):
        optimizer.zero_grad()
        z = encoder(x, adj)
        src, dst = pos_edges[:, perm]
        pos_out = predictor(z[src], z[dst])
        neg = torch.randint(0, x.size(0), src.size())
        neg_out = predictor(z[src], z[neg])
        loss = -F.logsigmoid(pos_out).mean() - F.logsigmoid(-neg_out).mean()
        loss.backward()
        optimizer.step()
        total_loss += loss.item() * perm.numel()
        total_examples += perm.numel()
    return total_loss / total_examples


@torch.no_grad()
def test(encoder, predictor, x, adj, pos_edges):
    encoder.eval()
    predictor.eval()
    z = encoder(x, adj)
    return (predictor(z[pos_edges[0]], z[pos_edges[1]]) > 0).float().mean().item()


def main():
    torch.manual_seed(12345)
    x = torch.randn(30, 6)
    edges, adj = random_graph(30, 64)
    encoder, predictor = Encoder(6, 16, 8), LinkPredictor(8)
    optimizer = torch.optim.Adam(list(encoder.parameters()) + list(predictor.parameters()), lr=0.01)
    for epoch in range(1, 4):
        loss = train(encoder, predictor, x, adj, edges, optimizer, batch_size=16)
        print(f"Epoch: {epoch:02d}, Loss: {loss:.4f}, Hits: {test(encoder, predictor, x, adj, edges):.3f}")


if __name__ == "__main__":
    main()
