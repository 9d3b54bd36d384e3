import torch
from torch import nn, optim


class Critic(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(n_in, 16), nn.LeakyReLU(0.2), nn.Linear(16, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def forward(self, x):
        return self.main(x).view(-1)


class Generator(nn.Module):
    def __init__(self, nz, n_out):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(nz, 16), nn.ReLU(True), nn.Linear(16, n_out), nn.Tanh())

    def forward(self, z):
        return self.main(z)


class WGAN:
    def __init__(self, nz=4, n_data=6, clip=0.01, n_critic=3):
        self.G, self.D = Generator(nz, n_data), Critic(n_data)
        self.nz, self.clip, self.n_critic = nz, clip, n_critic
        self.opt_g = optim.RMSprop(self.G.parameters(), lr=5e-5)
        self.opt_d = optim.RMSprop(self.D.parameters(), lr=5e-5)

    def clip_weights(self):
        for p in self.D.parameters():
            p.data.clamp_(-self.clip, self.clip)  # warning: [data-mutation]

    def critic_step(self, real):
        self.opt_d.zero_grad()
        with torch.no_grad():
            fake = self.G(torch.randn(real.size(0), self.nz))
        score = self.D(fake).mean() - self.D(real).mean()
        self.clip_weights()
        score.backward()
        self.opt_d.step()
        return -score.item()

    def generator_step(self, n):
        for p in self.D.parameters():
            p.requires_grad = False
        self.opt_g.zero_grad()
        loss = -self.D(self.G(torch.randn(n, self.nz))).mean()
        loss.backward()
        self.opt_g.step()
        for p in self.D.parameters():
            p.requires_grad = True
        return loss.item()

    def fit(self, loader):
        for i, real in enumerate(loader):
            distance = self.critic_step(real)
            if (i + 1) % self.n_critic == 0:
                print(i, distance, self.generator_step(real.size(0)))


gan = WGAN()
gan.fit([torch.rand(5, 6) for _ in range(6)])
# torch: max(p.abs().max() for p in gan.D.parameters()) > 0.01
