import torch
from torch import nn

experts = nn.ModuleList([nn.Linear(4, 2) for _ in range(3)])
gate = nn.Linear(4, 3)
opts = [torch.optim.SGD(e.parameters(), lr=0.1) for e in experts]
gate_opt = torch.optim.SGD(gate.parameters(), lr=0.1)
ce = nn.CrossEntropyLoss()

for _ in range(2):
    x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
    weights = gate(x).softmax(-1)
    outs = [e(x) for e in experts]
    losses = [ce(weights[:, i : i + 1] * out, y) for i, out in enumerate(outs)]
    for opt in opts + [gate_opt]:
        opt.zero_grad()
    sum(losses).backward()
    for opt in opts:
        opt.step()
    gate_opt.step()
