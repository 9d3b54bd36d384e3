# %%
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(42)

# %% [markdown]
# ## Explore the network's layers


# %%
class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels=1, out_channels=3, kernel_size=3)
        self.fc1 = nn.Linear(in_features=3 * 3 * 3, out_features=10)

    def forward(self, t):
        t = F.max_pool2d(F.relu(self.conv1(t)), kernel_size=2, stride=2)
        return self.fc1(t.reshape(-1, 3 * 3 * 3))


# %%
network = Network()
images, labels = torch.rand(4, 1, 8, 8), torch.randint(0, 10, (4,))
preds = network(images)
print(preds.argmax(dim=1).eq(labels).sum())

# %%
optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
for epoch in range(2):
    preds = network(images)
    loss = F.cross_entropy(preds, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
