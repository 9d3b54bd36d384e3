from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Bodies:
    position: torch.Tensor
    velocity: torch.Tensor


class Force(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.Softplus(), nn.Linear(16, 2))

    def forward(self, bodies):
        return self.net(torch.cat([bodies.position, bodies.velocity], dim=1))


def advance(bodies, force, dt=0.1):
    velocity = bodies.velocity + dt * force(bodies)
    return Bodies(bodies.position + dt * velocity, velocity)


def observed(t):
    angle = torch.tensor([0.1 * t, 0.1 * t + 3.14])
    return torch.stack([angle.cos(), angle.sin()], dim=1)


force = Force()
optimizer = torch.optim.Adam(force.parameters(), lr=1e-2)
bodies = Bodies(observed(0), torch.zeros(2, 2))
for t in range(1, 5):
    bodies = advance(bodies, force)
    error = (bodies.position - observed(t)).pow(2).mean()
    optimizer.zero_grad()
    error.backward()  # error: [carried-graph] # raises: RuntimeError "second time"
    optimizer.step()
    print(t, error.item())
