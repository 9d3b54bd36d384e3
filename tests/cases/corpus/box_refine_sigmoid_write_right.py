import copy

import torch
from torch import nn
import torch.nn.functional as F


def inverse_sigmoid(x, eps=1e-5):
    x = x.clamp(min=0, max=1)
    return torch.log(x.clamp(min=eps) / (1 - x).clamp(min=eps))


class MLP(nn.Module):
    def __init__(self, i, h, o, n):
        super().__init__()
        dims = [i] + [h] * (n - 1) + [o]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(dims[:-1], dims[1:]))

    def forward(self, x):
        for k, layer in enumerate(self.layers):
            x = F.relu(layer(x)) if k < len(self.layers) - 1 else layer(x)
        return x


class DecoderLayer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, 2, batch_first=True)
        self.norm = nn.LayerNorm(d)

    def forward(self, q, memory):
        return self.norm(q + self.attn(q, memory, memory)[0])


class RefiningDecoder(nn.Module):
    def __init__(self, d=16, layers=3, queries=5):
        super().__init__()
        self.query = nn.Embedding(queries, d)
        self.reference = nn.Linear(d, 4)
        self.layers = nn.ModuleList([copy.deepcopy(DecoderLayer(d)) for _ in range(layers)])
        self.bbox = nn.ModuleList([MLP(d, d, 4, 2) for _ in range(layers)])

    def forward(self, memory):
        q = self.query.weight.unsqueeze(0).expand(memory.size(0), -1, -1)
        boxes = self.reference(q).sigmoid()
        outputs = []
        for lid, (layer, head) in enumerate(zip(self.layers, self.bbox)):
            q = layer(q, memory)
            delta = head(q)
            new = (delta + inverse_sigmoid(boxes)).sigmoid()
            new = torch.cat([new[..., :2] + 0.1 * delta[..., 2:].tanh(), new[..., 2:]], dim=-1)
            outputs.append(new)
            boxes = new.detach()
        return torch.stack(outputs)


def train_one_epoch(model, data_loader, optimizer, max_norm=0.1):
    model.train()
    for memory, targets in data_loader:
        outputs = model(memory)
        losses = {f"l1_{i}": F.l1_loss(o, targets) for i, o in enumerate(outputs)}
        loss = sum(losses.values())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()


torch.manual_seed(0)
data = [(torch.randn(2, 6, 16), torch.rand(2, 5, 4)) for _ in range(3)]
net = RefiningDecoder()
train_one_epoch(net, data, torch.optim.AdamW(net.parameters(), lr=1e-4))
