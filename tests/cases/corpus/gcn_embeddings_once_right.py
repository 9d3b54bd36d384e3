import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class GraphConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(i, o))
        self.bias = nn.Parameter(torch.zeros(o))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        return torch.spmm(adj, x @ self.weight) + self.bias


class GAE(nn.Module):
    def __init__(self, nfeat, nhid, nout, dropout=0.1):
        super().__init__()
        self.gc1, self.gc2 = GraphConv(nfeat, nhid), GraphConv(nhid, nout)
        self.dropout = dropout

    def encode(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, self.dropout, training=self.training)
        return self.gc2(x, adj)

    def decode(self, z, edges):
        return (z[edges[0]] * z[edges[1]]).sum(-1)


def normalise(adj):
    deg = adj.sum(1)
    d = deg.pow(-0.5)
    d[torch.isinf(d)] = 0.0
    return (d.unsqueeze(1) * adj * d.unsqueeze(0)).to_sparse()


def load(n=10):
    adj = (torch.rand(n, n) > 0.6).float()
    adj = ((adj + adj.t()) > 0).float() + torch.eye(n)
    edges = adj.nonzero().t()
    return torch.rand(n, 5), normalise(adj), edges


def train(args):
    features, adj, edges = load()
    model = GAE(5, args.hidden, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=5e-4)
    loader = torch.utils.data.DataLoader(torch.arange(edges.size(1)), batch_size=args.batch_size, shuffle=True)
    for epoch in range(args.epochs):
        model.train()
        total = 0
        for perm in loader:
            z = model.encode(features, adj)
            pos = edges[:, perm]
            neg = torch.randint(0, features.size(0), pos.size())
            logits = torch.cat([model.decode(z, pos), model.decode(z, neg)])
            labels = torch.cat([torch.ones(pos.size(1)), torch.zeros(neg.size(1))])
            loss = F.binary_cross_entropy_with_logits(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print("Epoch: {:04d}".format(epoch + 1), "loss_train: {:.4f}".format(total))


parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--hidden", type=int, default=8)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--batch_size", type=int, default=8)
if __name__ == "__main__":
    train(parser.parse_args([]))
