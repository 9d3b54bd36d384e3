from itertools import zip_longest

import torch
from torch import nn

encoder = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
clf, dom = nn.Linear(8, 2), nn.Linear(8, 2)
opt = torch.optim.SGD([*encoder.parameters(), *clf.parameters(), *dom.parameters()], lr=0.1)
source = [(torch.randn(3, 4), torch.randint(0, 2, (3,))) for _ in range(3)]
target = [torch.randn(3, 4) for _ in range(2)]
ce = nn.CrossEntropyLoss()

for epoch in range(2):
    for batch, xt in zip_longest(source, target):
        xs, ys = batch
        fs = encoder(xs)
        cls_loss = ce(clf(fs), ys)
        opt.zero_grad()
        if xt is None:
            cls_loss.backward()
        else:
            cls_loss.backward()
            ft = encoder(xt)
            dom_loss = ce(dom(torch.cat([fs, ft])), torch.tensor([0] * 3 + [1] * 3))
            dom_loss.backward()  # error: [double-backward] # raises: RuntimeError "through the graph a second time"
        opt.step()
