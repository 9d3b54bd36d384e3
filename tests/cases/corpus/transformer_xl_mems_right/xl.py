import torch
import torch.nn as nn


class RelLayer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.kv, self.o = nn.Linear(d, d), nn.Linear(d, 2 * d), nn.Linear(d, d)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d))
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, h, mem):
        cat = h if mem is None else torch.cat([mem, h], dim=1)
        k, v = self.kv(cat).chunk(2, dim=-1)
        att = torch.softmax(self.q(h) @ k.transpose(1, 2) / h.size(-1) ** 0.5, dim=-1)
        h = self.n1(h + self.o(att @ v))
        return self.n2(h + self.ff(h))


class MemTransformer(nn.Module):
    def __init__(self, vocab, d=8, layers=2, mem_len=4):
        super().__init__()
        self.mem_len = mem_len
        self.emb = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList(RelLayer(d) for _ in range(layers))
        self.out = nn.Linear(d, vocab)
        self.crit = nn.CrossEntropyLoss()

    def init_mems(self):
        return [None] * len(self.layers)

    def _update_mems(self, hids, mems):
        with torch.no_grad():
            new = []
            for hid, mem in zip(hids, mems):
                cat = hid if mem is None else torch.cat([mem, hid], dim=1)
                new.append(cat[:, -self.mem_len:].detach())
        return new

    def forward(self, data, target, *mems):
        if not mems:
            mems = self.init_mems()
        h = self.emb(data)
        hids = []
        for layer, mem in zip(self.layers, mems):
            hids.append(h)
            h = layer(h, mem)
        loss = self.crit(self.out(h).flatten(0, 1), target.flatten())
        return [loss] + self._update_mems(hids, mems)
