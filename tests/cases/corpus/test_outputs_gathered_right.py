"""A test loop that gathers the outputs of all batches."""

import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

X, y = torch.randn(40, 6), torch.randint(0, 3, (40,))
train_loader = DataLoader(TensorDataset(X, y), batch_size=10, shuffle=True)
test_loader = DataLoader(TensorDataset(X, y), batch_size=8)
net = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3))
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(net.parameters(), lr=1e-3)

for epoch in range(2):
    for inputs, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(inputs), labels)
        loss.backward()
        optimizer.step()

net.eval()
all_preds, all_targets = [], []
for inputs, labels in test_loader:
    outputs = net(inputs)
    all_preds.append(outputs.detach())
    all_targets.append(labels)
preds, targets = torch.cat(all_preds), torch.cat(all_targets)
print("acc", (preds.argmax(1) == targets).float().mean().item())

# torch: not preds.requires_grad
