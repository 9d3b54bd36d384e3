import torch
from torch import nn


class GRU4Rec(nn.Module):
    def __init__(self, items, hidden, batch):
        super().__init__()
        self.emb = nn.Embedding(items, hidden)
        self.gru = nn.GRU(hidden, hidden)
        self.h2o = nn.Linear(hidden, items)
        self.batch, self.hidden = batch, hidden

    def init_hidden(self):
        return torch.zeros(1, self.batch, self.hidden)

    def forward(self, item, hidden):
        output, hidden = self.gru(self.emb(item).unsqueeze(0), hidden)
        return torch.tanh(self.h2o(output.squeeze(0))), hidden


class SessionLoader:
    def __init__(self, steps, batch, items):
        self.steps, self.batch, self.items = steps, batch, items

    def __iter__(self):
        for step in range(self.steps):
            done = [b for b in range(self.batch) if (step + b) % 3 == 2]
            yield torch.randint(0, self.items, (self.batch,)), torch.randint(0, self.items, (self.batch,)), done


class Trainer(object):
    def __init__(self, model, loader):
        self.model, self.loader = model, loader
        self.loss_func = nn.CrossEntropyLoss()
        self.optim = torch.optim.Adagrad(model.parameters(), lr=0.05)

    def reset_hidden(self, hidden, mask):
        if len(mask) != 0:
            keep = torch.ones(1, hidden.size(1), 1)
            keep[:, mask, :] = 0
            hidden = hidden * keep
        return hidden

    def train_epoch(self):
        self.model.train()
        losses = []
        hidden = self.model.init_hidden()
        for ii, (item, target, mask) in enumerate(self.loader):
            self.optim.zero_grad()
            hidden = self.reset_hidden(hidden, mask).detach()
            logit, hidden = self.model(item, hidden)
            loss = self.loss_func(logit, target)
            loss.backward()
            losses.append(loss.item())
            self.optim.step()
        return sum(losses) / len(losses)


print(Trainer(GRU4Rec(10, 6, 4), SessionLoader(4, 4, 10)).train_epoch())
