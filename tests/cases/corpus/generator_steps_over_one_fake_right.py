import torch
import torch.nn as nn

torch.manual_seed(5)
nz, width, n_g, n_d = 4, 16, 2, 1


def mlp(a, b):
    return nn.Sequential(nn.Linear(a, width), nn.LeakyReLU(0.2), nn.Linear(width, b))


class WGAN:
    def __init__(self, clip=0.02):
        self.G, self.D, self.clip = mlp(nz, 2), mlp(2, 1), clip
        self.opt_G = torch.optim.RMSprop(self.G.parameters(), lr=5e-4)
        self.opt_D = torch.optim.RMSprop(self.D.parameters(), lr=5e-4)

    def critic_step(self, real):
        fake = self.G(torch.randn(len(real), nz)).detach()
        loss = self.D(fake).mean() - self.D(real).mean()
        self.opt_D.zero_grad()
        loss.backward()
        self.opt_D.step()
        with torch.no_grad():
            for p in self.D.parameters():
                p.clamp_(-self.clip, self.clip)
        return loss.item()

    def generator_steps(self, n):
        for _ in range(n_g):
            fake = self.G(torch.randn(n, nz))
            loss = -self.D(fake).mean()
            self.opt_G.zero_grad()
            loss.backward()
            self.opt_G.step()
        return loss.item()


gan = WGAN()
for it in range(2):
    real = torch.randn(8, 2) + 3
    critic = [gan.critic_step(real) for _ in range(n_d)]
    print(it, critic[-1], gan.generator_steps(len(real)))
