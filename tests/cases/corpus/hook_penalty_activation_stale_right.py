import torch
from torch import nn

activations = {}


def get_activation(name):
    def hook(module, inputs, output):
        activations[name] = [output]

    return hook


model = nn.Sequential(nn.Linear(6, 8), nn.Sigmoid(), nn.Linear(8, 2))
for i, layer in enumerate(model):
    layer.register_forward_hook(get_activation(f"layer{i}"))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def sparsity_penalty():
    return sum(act.abs().mean() for acts in activations.values() for act in acts)


for step in range(3):
    x, y = torch.randn(4, 6), torch.randint(0, 2, (4,))
    out = model(x)
    loss = criterion(out, y) + 0.01 * sparsity_penalty()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
