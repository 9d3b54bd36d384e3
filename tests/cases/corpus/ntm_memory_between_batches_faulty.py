from collections import namedtuple

import torch
import torch.nn.functional as F
from torch import nn, optim

State = namedtuple("State", ["read", "memory", "hidden"])


class NTMMemory(nn.Module):
    def __init__(self, n, m):
        super().__init__()
        self.n, self.m = n, m
        self.register_buffer("mem_bias", torch.zeros(n, m))
        nn.init.uniform_(self.mem_bias, -0.1, 0.1)

    def initial(self, batch):
        return self.mem_bias.clone().repeat(batch, 1, 1)

    @staticmethod
    def read(memory, w):
        return torch.matmul(w.unsqueeze(1), memory).squeeze(1)

    @staticmethod
    def write(memory, w, e, a):
        erase = torch.matmul(w.unsqueeze(-1), e.unsqueeze(1))
        add = torch.matmul(w.unsqueeze(-1), a.unsqueeze(1))
        return memory * (1 - erase) + add


class NTM(nn.Module):
    def __init__(self, inputs, outputs, n=6, m=4, hidden=8):
        super().__init__()
        self.memory = NTMMemory(n, m)
        self.controller = nn.LSTMCell(inputs + m, hidden)
        self.key = nn.Linear(hidden, m)
        self.erase = nn.Linear(hidden, m)
        self.add = nn.Linear(hidden, m)
        self.out = nn.Linear(hidden + m, outputs)
        self.hidden_size = hidden

    def create_state(self, batch):
        h = torch.zeros(batch, self.hidden_size), torch.zeros(batch, self.hidden_size)
        return State(torch.zeros(batch, self.memory.m), self.memory.initial(batch), h)

    def forward(self, x, state):
        h, c = self.controller(torch.cat([x, state.read], dim=1), state.hidden)
        w = F.softmax(F.cosine_similarity(state.memory, self.key(h).unsqueeze(1), dim=-1), dim=1)
        memory = NTMMemory.write(state.memory, w, torch.sigmoid(self.erase(h)), torch.tanh(self.add(h)))
        read = NTMMemory.read(memory, w)
        return self.out(torch.cat([h, read], dim=1)), State(read, memory, (h, c))


def train_batch(net, criterion, optimizer, x, y, state):
    optimizer.zero_grad()
    outputs = []
    for t in range(x.size(0)):
        o, state = net(x[t], state)
        outputs.append(o)
    loss = criterion(torch.stack(outputs), y)
    loss.backward()  # error: [carried-graph] # raises: RuntimeError "second time"
    nn.utils.clip_grad_value_(net.parameters(), 10)
    optimizer.step()
    return loss.item(), state


def main():
    torch.manual_seed(3)
    net = NTM(3, 3)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = optim.RMSprop(net.parameters(), lr=1e-4, momentum=0.9)
    state = net.create_state(4)
    losses = []
    for batch_num in range(1, 4):
        x = torch.bernoulli(torch.full((5, 4, 3), 0.5))
        loss, state = train_batch(net, criterion, optimizer, x, x, state)
        losses += [loss]
    print(sum(losses) / len(losses))


if __name__ == "__main__":
    main()
