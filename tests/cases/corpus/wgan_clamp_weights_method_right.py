import torch
from torch import nn


class WeightClipper:
    def __init__(self, limit=0.01, frequency=1):
        self.limit, self.frequency = limit, frequency

    def __call__(self, module):
        if hasattr(module, "weight"):
            w = module.weight.data
            w.clamp_(-self.limit, self.limit)


class Critic(nn.Module):
    def __init__(self, widths):
        super().__init__()
        blocks = []
        for i in range(len(widths) - 1):
            blocks.append(nn.Linear(widths[i], widths[i + 1]))
            blocks.append(nn.Tanh())
        self.net = nn.Sequential(*blocks[:-1])

    def forward(self, x):
        return self.net(x).mean()


def train_wgan(epochs, n_critic):
    critic, gen = Critic([4, 8, 1]), nn.Linear(2, 4)
    opt_c = torch.optim.RMSprop(critic.parameters(), lr=5e-5)
    opt_g = torch.optim.RMSprop(gen.parameters(), lr=5e-5)
    clipper = WeightClipper()
    for epoch in range(epochs):
        for _ in range(n_critic):
            opt_c.zero_grad()
            loss_c = critic(gen(torch.randn(8, 2)).detach()) - critic(torch.rand(8, 4))
            loss_c.backward()
            opt_c.step()
            if epoch % clipper.frequency == 0:
                critic.apply(clipper)
        opt_g.zero_grad()
        loss_g = -critic(gen(torch.randn(8, 2)))
        loss_g.backward()
        opt_g.step()
    return loss_g.item()


print(train_wgan(2, 2))
