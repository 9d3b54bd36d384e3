import torch
import torch.nn as nn


class StatefulLayer(nn.Module):
    """Base class for layers that keep a membrane potential between calls."""

    def __init__(self, state_names):
        super().__init__()
        for name in state_names:
            self.register_buffer(name, torch.zeros(0))

    def is_state_initialised(self):
        for buffer in self.buffers():
            if buffer.shape == torch.Size([0]):
                return False
        return True

    def init_state_with_shape(self, shape):
        for name, buffer in self.named_buffers():
            self.register_buffer(name, torch.zeros(shape))

    def reset_states(self, randomize=False):
        if self.is_state_initialised():
            for buffer in self.buffers():
                if randomize:
                    nn.init.uniform_(buffer)
                else:
                    buffer.detach_().zero_()


class LIF(StatefulLayer):
    def __init__(self, tau_mem):
        super().__init__(state_names=["v_mem"])
        self.alpha = nn.Parameter(torch.tensor(tau_mem))

    def forward(self, data):
        batch, time_steps, *trailing = data.shape
        if not self.is_state_initialised():
            self.init_state_with_shape((batch, *trailing))
        out = []
        for step in range(time_steps):
            self.v_mem = self.alpha * self.v_mem + (1 - self.alpha) * data[:, step]
            out.append(torch.sigmoid(self.v_mem - 1.0))
        return torch.stack(out, 1)


model = nn.Sequential(nn.Linear(6, 8), LIF(0.8), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

for batch_idx in range(4):
    for layer in model:
        if isinstance(layer, StatefulLayer):
            layer.reset_states()
    data, target = torch.rand(5, 7, 6), torch.randint(0, 2, (5,))
    out = model(data).sum(1)
    loss = criterion(out, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
