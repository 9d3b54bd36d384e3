"""A forward hook that keeps the norm of a layer."""

import torch
import torch.nn as nn


class FeatureRecorder:
    def __init__(self, layer):
        self.history = []
        self.handle = layer.register_forward_hook(self.hook)

    def hook(self, module, inputs, output):
        self.history.append(output.norm())  # warning: [live-accumulator]


model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
recorder = FeatureRecorder(model[0])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print([float(h) for h in recorder.history])

# torch: recorder.history[0].requires_grad
