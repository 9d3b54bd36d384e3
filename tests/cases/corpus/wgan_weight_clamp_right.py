import torch
import torch.nn as nn
from torch.optim import RMSprop

nz, nc = 5, 4
batch_size, n_critic, clip_value = 12, 3, 0.01


class NetG(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(nz, 16)
        self.out = nn.Linear(16, nc)

    def forward(self, z):
        return self.out(torch.relu(self.fc(z)))


class NetD(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(nc, 16)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        return self.out(nn.functional.leaky_relu(self.fc(x), 0.2)).mean()


def real_batch():
    return torch.randn(batch_size, nc) * 0.5 + torch.arange(nc, dtype=torch.float32)


def clip_parameters(net):
    for p in net.parameters():
        p.data.clamp_(-clip_value, clip_value)


class WGAN:
    def __init__(self, lr=5e-5):
        self.netG, self.netD = NetG(), NetD()
        self.optG = RMSprop(self.netG.parameters(), lr=lr)
        self.optD = RMSprop(self.netD.parameters(), lr=lr)

    def critic_step(self):
        self.netD.zero_grad()
        with torch.no_grad():
            fake = self.netG(torch.randn(batch_size, nz))
        loss = self.netD(fake) - self.netD(real_batch())
        loss.backward()
        self.optD.step()
        clip_parameters(self.netD)
        return -loss.item()

    def generator_step(self):
        self.netG.zero_grad()
        loss = -self.netD(self.netG(torch.randn(batch_size, nz)))
        loss.backward()
        self.optG.step()
        return loss.item()

    def train(self, iterations):
        for it in range(iterations):
            for _ in range(n_critic):
                distance = self.critic_step()
            g_loss = self.generator_step()
            print(f"iter {it}: distance {distance:.5f}, generator {g_loss:.5f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    WGAN().train(iterations=3)
