import torch
import torch.nn as nn


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.kv, self.o = nn.Linear(d, d), nn.Linear(d, 2 * d), nn.Linear(d, d)

    def forward(self, h, mem):
        c = torch.cat([mem, h], 0) if mem is not None else h
        k, v = self.kv(c).chunk(2, -1)
        att = torch.softmax(torch.einsum("ibd,jbd->bij", self.q(h), k), -1)
        return h + self.o(torch.einsum("bij,jbd->ibd", att, v))


class MemTransformerLM(nn.Module):
    def __init__(self, n_token, n_layer, d_model, mem_len):
        super().__init__()
        self.emb = nn.Embedding(n_token, d_model)
        self.layers = nn.ModuleList([Layer(d_model) for _ in range(n_layer)])
        self.out = nn.Linear(d_model, n_token)
        self.mem_len = mem_len

    def init_mems(self):
        return [None for _ in self.layers]

    def _update_mems(self, hids, mems):
        with torch.no_grad():
            return [torch.cat([m, h])[-self.mem_len :] if m is not None else h.detach() for h, m in zip(hids, mems)]

    def forward(self, data, target, *mems):
        mems = mems or self.init_mems()
        core, hids = self.emb(data), []
        for layer, mem in zip(self.layers, mems):
            hids.append(core)
            core = layer(core, mem)
        new_mems = self._update_mems(hids, mems)
        loss = nn.functional.cross_entropy(self.out(core).flatten(0, 1), target.flatten())
        return [loss, *new_mems]


class LMIterator:
    def __init__(self, data, bptt):
        self.data, self.bptt = data, bptt

    def __iter__(self):
        for i in range(0, self.data.size(0) - 1, self.bptt):
            n = min(self.bptt, self.data.size(0) - 1 - i)
            yield self.data[i : i + n], self.data[i + 1 : i + 1 + n], n


model = MemTransformerLM(12, 2, 8, 4)
optimizer = torch.optim.Adam(model.parameters(), 2.5e-4)
mems = tuple()
for batch, (data, target, seq_len) in enumerate(LMIterator(torch.randint(0, 12, (13, 2)), 4)):
    model.zero_grad()
    ret = model(data, target, *mems)
    loss, mems = ret[0], ret[1:]
    loss.backward()
    optimizer.step()
