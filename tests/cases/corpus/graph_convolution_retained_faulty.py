"""A graph convolution whose backward retains for nothing."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class GraphConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(i, o))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        return adj @ (x @ self.weight)


class GCN(nn.Module):
    def __init__(self, i, h, o):
        super().__init__()
        self.gc1, self.gc2 = GraphConv(i, h), GraphConv(h, o)

    def forward(self, x, adj):
        x = F.dropout(F.relu(self.gc1(x, adj)), 0.5, training=self.training)
        return F.log_softmax(self.gc2(x, adj), dim=1)


adj, feats, labels = torch.eye(8), torch.randn(8, 5), torch.randint(0, 3, (8,))
model = GCN(5, 16, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
idx_train, idx_val = torch.arange(5), torch.arange(5, 8)


def train(epoch):
    model.train()
    optimizer.zero_grad()
    output = model(feats, adj)
    loss_train = F.nll_loss(output[idx_train], labels[idx_train])
    loss_train.backward(retain_graph=True)  # warning: [needless-retain-graph]
    optimizer.step()
    loss_val = F.nll_loss(output[idx_val], labels[idx_val])
    print(epoch, loss_train.item(), loss_val.item())


for epoch in range(3):
    train(epoch)

# torch: model.gc1.weight.grad is not None
