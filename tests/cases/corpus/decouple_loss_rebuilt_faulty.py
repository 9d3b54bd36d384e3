"""A recurrent network with a decoupling loss that is gathered in a list."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class STCell(nn.Module):
    def __init__(self, num_hidden):
        super().__init__()
        self.gates = nn.Linear(2 * num_hidden, 4 * num_hidden)

    def forward(self, x, h, c):
        i, f, g, o = self.gates(torch.cat([x, h], 1)).chunk(4, 1)
        delta_c = torch.sigmoid(i) * torch.tanh(g)
        c = torch.sigmoid(f) * c + delta_c
        return torch.sigmoid(o) * torch.tanh(c), c, delta_c


class RNN(nn.Module):
    def __init__(self, num_layers=2, num_hidden=6):
        super().__init__()
        self.cells = nn.ModuleList([STCell(num_hidden) for _ in range(num_layers)])
        self.adapter = nn.Linear(num_hidden, num_hidden, bias=False)
        self.out = nn.Linear(num_hidden, num_hidden)
        self.num_layers, self.num_hidden = num_layers, num_hidden

    def forward(self, frames):
        T, B, _ = frames.shape
        h = [torch.zeros(B, self.num_hidden) for _ in range(self.num_layers)]
        c = [torch.zeros(B, self.num_hidden) for _ in range(self.num_layers)]
        decouple_loss, outs = [], []
        for t in range(T - 1):
            x = frames[t]
            deltas = []
            for i, cell in enumerate(self.cells):
                h[i], c[i], delta = cell(x, h[i], c[i])
                x = h[i]
                deltas.append(F.normalize(self.adapter(delta), dim=1))
            decouple_loss.append(torch.mean(torch.abs(torch.cosine_similarity(deltas[0], deltas[1], dim=1))))
            outs.append(self.out(x))
        decouple_loss = torch.mean(torch.tensor(decouple_loss))  # warning: [unreached-parameter]
        return F.mse_loss(torch.stack(outs), frames[1:]) + 0.05 * decouple_loss


class Model:
    def __init__(self, lr=1e-3):
        self.network = RNN()
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=lr)

    def train(self, frames):
        self.optimizer.zero_grad()
        loss = self.network(frames)
        loss.backward()
        self.optimizer.step()
        return loss.detach().cpu().numpy()


model = Model()
for itr in range(3):
    print(itr, model.train(torch.randn(4, 5, 6)))

# torch: model.network.adapter.weight.grad is None
