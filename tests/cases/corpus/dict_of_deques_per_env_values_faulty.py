from collections import defaultdict, deque

import numpy as np
import torch
from torch import nn

critic = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
traces = defaultdict(lambda: deque(maxlen=3))
rng = np.random.default_rng(0)

for t in range(8):
    losses = []
    for env_id in ("left", "right"):
        s = torch.from_numpy(rng.normal(size=2).astype("float32"))
        traces[env_id].append(critic(s))
        values = torch.cat(list(traces[env_id]))
        losses.append((values - 1.0).pow(2).mean())
    opt.zero_grad()
    torch.stack(losses).sum().backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
    opt.step()
