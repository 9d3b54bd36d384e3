import torch
import torch.nn as nn


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, t, y):
        return self.net(y**3)


def odeint_euler(func, y0, t):
    y = y0.clone()
    traj = [y]
    for i in range(1, len(t)):
        h = t[i] - t[i - 1]
        y += h * func(t[i - 1], y)  # error: [inplace-on-saved]
        traj.append(y.clone())
    return torch.stack(traj)


true_y0 = torch.tensor([[2.0, 0.0]])
t = torch.linspace(0.0, 1.0, 5)
func = ODEFunc()
optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-3)
target = torch.randn(5, 1, 2)
for itr in range(1, 3):
    optimizer.zero_grad()
    pred_y = odeint_euler(func, true_y0, t)
    loss = torch.mean(torch.abs(pred_y - target))
    loss.backward()  # raises: RuntimeError "modified by an inplace operation"
    optimizer.step()
