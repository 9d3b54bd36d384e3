"""Cross-validation that makes a model for each fold, and one optimizer."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Subset, TensorDataset


def make_model():
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))


def reset_weights(m):
    if hasattr(m, "reset_parameters"):
        m.reset_parameters()


dataset = TensorDataset(torch.randn(30, 6), torch.randint(0, 2, (30,)))
folds = [(list(range(0, 20)), list(range(20, 30))), (list(range(10, 30)), list(range(0, 10)))]
net = make_model()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
loss_function = nn.CrossEntropyLoss()
changed = []
for fold, (train_ids, test_ids) in enumerate(folds):
    net = make_model()
    loader = DataLoader(dataset, batch_size=5, sampler=torch.utils.data.SubsetRandomSampler(train_ids))
    first = net[0].weight.clone()
    for epoch in range(2):
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = loss_function(net(inputs), targets)
            loss.backward()
            optimizer.step()  # warning: [step-without-backward]
    changed.append(not torch.equal(first, net[0].weight))

# torch: not any(changed)
