import torch
import torch.nn as nn


class StackedEcho(nn.Module):
    """Layers that remember their last activity from one call to the next."""

    def __init__(self, n_in, n_hidden, layers=3, leak=0.3):
        super().__init__()
        sizes = [n_in] + [n_hidden] * layers
        self.inputs = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.loops = nn.ModuleList(nn.Linear(n_hidden, n_hidden, bias=False) for _ in range(layers))
        self.leak = leak
        self.activity = [torch.zeros(1, n_hidden) for _ in range(layers)]

    def forward(self, x):
        for i, (w_in, w_loop) in enumerate(zip(self.inputs, self.loops)):
            new = torch.tanh(w_in(x) + w_loop(self.activity[i]))
            self.activity[i] = (1 - self.leak) * self.activity[i] + self.leak * new
            x = self.activity[i]
        return x


def signal(length):
    t = torch.arange(length) * 0.2
    return torch.stack([t.sin(), (2 * t).cos()], dim=1)


reservoir, readout = StackedEcho(2, 10), nn.Linear(10, 2)
params = list(reservoir.parameters()) + list(readout.parameters())
optimizer = torch.optim.RMSprop(params, lr=1e-3)
series = signal(12)
for t in range(len(series) - 1):
    prediction = readout(reservoir(series[t : t + 1]))
    loss = torch.nn.functional.mse_loss(prediction, series[t + 1 : t + 2])
    optimizer.zero_grad()
    loss.backward()  # error: [carried-graph] # raises: RuntimeError "second time"
    torch.nn.utils.clip_grad_norm_(params, 1.0)
    optimizer.step()
    if t % 5 == 0:
        print(t, loss.item())
