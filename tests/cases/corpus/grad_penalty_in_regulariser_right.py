import torch
from torch import nn


class R1(nn.Module):
    def __init__(self, gamma=10.0):
        super().__init__()
        self.gamma = gamma

    def forward(self, prediction_real, real_sample):
        (grad_real,) = torch.autograd.grad(outputs=prediction_real.sum(), inputs=real_sample, create_graph=True)
        return 0.5 * self.gamma * (grad_real.reshape(grad_real.shape[0], -1).norm(2, dim=1) ** 2).mean()


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(6, 12), nn.Linear(12, 1)

    def forward(self, x):
        return self.l2(torch.tanh(self.l1(x)))


def d_step(critic, generator, opt, real, r1, every, step):
    opt.zero_grad()
    real = real.detach().requires_grad_(True)
    prediction_real = critic(real)
    with torch.no_grad():
        fake = generator(torch.randn(real.size(0), 3))
    loss = nn.functional.softplus(critic(fake)).mean() + nn.functional.softplus(-prediction_real).mean()
    if step % every == 0:
        loss = loss + r1(prediction_real, real)
    loss.backward()
    opt.step()
    return loss.item()


def main():
    generator = nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 6))
    critic, r1 = Critic(), R1()
    opt = torch.optim.Adam(critic.parameters(), 1e-3, betas=(0.0, 0.99))
    for step in range(4):
        d_step(critic, generator, opt, torch.rand(4, 6), r1, every=2, step=step)


main()
