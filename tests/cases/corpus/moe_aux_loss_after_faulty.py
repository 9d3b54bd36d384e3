import torch
from torch import nn


class MoE(nn.Module):
    def __init__(self, d, experts=3):
        super().__init__()
        self.gate = nn.Linear(d, experts)
        self.experts = nn.ModuleList([nn.Sequential(nn.Linear(d, d), nn.GELU(), nn.Linear(d, d)) for _ in range(experts)])
        self.aux_loss = 0.0

    def forward(self, x):
        probs = self.gate(x).softmax(-1)
        load = probs.mean(dim=tuple(range(probs.dim() - 1)))
        self.aux_loss = (load * load).sum() * len(self.experts)
        return sum(p.unsqueeze(-1) * e(x) for p, e in zip(probs.unbind(-1), self.experts))


class Model(nn.Module):
    def __init__(self, d=4, depth=2):
        super().__init__()
        self.layers = nn.ModuleList([MoE(d) for _ in range(depth)])
        self.head = nn.Linear(d, 1)

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x).squeeze(-1)

    def aux(self):
        return sum(layer.aux_loss for layer in self.layers)


def step(model, optimizer, batch):
    x, y = batch
    optimizer.zero_grad()
    main = (model(x) - y).pow(2).mean()
    main.backward()
    aux = 0.01 * model.aux()
    aux.backward()  # error: [double-backward] # raises: RuntimeError "second time"
    optimizer.step()
    return {"main": main.item(), "aux": aux.item()}


model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(2):
    print(step(model, optimizer, (torch.rand(5, 4), torch.rand(5))))
