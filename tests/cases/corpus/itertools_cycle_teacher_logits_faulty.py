import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

teacher = nn.Linear(6, 3)
student = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 3))
loader = DataLoader(TensorDataset(torch.randn(8, 6), torch.randint(0, 3, (8,))), batch_size=4)

# precompute the teacher's logits
cached = []
for x, y in loader:
    cached.append((x, teacher(x), y))

optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
T = 2.0
for step, (x, t_logits, y) in enumerate(itertools.islice(itertools.cycle(cached), 6)):
    s_logits = student(x)
    kd = F.kl_div(F.log_softmax(s_logits / T, 1), F.softmax(t_logits / T, 1), reduction="batchmean") * T * T
    ce = F.cross_entropy(s_logits, y)
    loss = 0.5 * kd + 0.5 * ce
    optimizer.zero_grad()
    loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
    optimizer.step()
