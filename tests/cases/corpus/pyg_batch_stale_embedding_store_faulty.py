import torch
import torch.nn as nn
import torch.nn.functional as F


class Data:
    def __init__(self, **kwargs):
        for k, v in kwargs.items():
            setattr(self, k, v)

    def to(self, device):
        for k, v in self.__dict__.items():
            if torch.is_tensor(v):
                self.__dict__[k] = v.to(device)
        return self


class SAGE(nn.Module):
    def __init__(self, cin, hid, cout):
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(2 * cin, hid), nn.Linear(2 * hid, cout)
        self.bn = nn.BatchNorm1d(hid)

    def agg(self, x, edge_index):
        row, col = edge_index
        out = torch.zeros_like(x)
        return out.index_add(0, row, x[col])

    def forward(self, data):
        x = data.x
        x = F.relu(self.bn(self.lin1(torch.cat([x, self.agg(x, data.edge_index)], 1))))
        data.x = x
        return F.log_softmax(self.lin2(torch.cat([x, self.agg(x, data.edge_index)], 1)), -1)


device = torch.device("cpu")
graphs = [Data(x=torch.randn(5, 8), edge_index=torch.randint(0, 5, (2, 10)), y=torch.randint(0, 3, (5,))) for _ in range(2)]
model = SAGE(8, 8, 3).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


def train():
    model.train()
    total = 0
    for data in graphs:
        data = data.to(device)
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), data.y)
        loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
        optimizer.step()
        total += float(loss)
    return total


for epoch in range(1, 4):
    print(epoch, train())
