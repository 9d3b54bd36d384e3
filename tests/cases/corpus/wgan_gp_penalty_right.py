import torch
import torch.nn as nn
from torch import autograd, optim

DIM = 16
LAMBDA = 0.1
CRITIC_ITERS = 2
BATCH_SIZE = 16


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(2, DIM),
            nn.ReLU(True),
            nn.Linear(DIM, DIM),
            nn.ReLU(True),
            nn.Linear(DIM, 2),
        )

    def forward(self, noise, real_data):
        return self.main(noise) + real_data.mean(0)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(2, DIM),
            nn.ReLU(True),
            nn.Linear(DIM, DIM),
            nn.ReLU(True),
            nn.Linear(DIM, 1),
        )

    def forward(self, inputs):
        return self.main(inputs).view(-1)


def inf_train_gen():
    centers = torch.tensor([(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)])
    while True:
        index = torch.randint(0, 4, (BATCH_SIZE,))
        yield centers[index] + 0.02 * torch.randn(BATCH_SIZE, 2)


def calc_gradient_penalty(netD, real_data, fake_data):
    alpha = torch.rand(BATCH_SIZE, 1).expand(real_data.size())
    interpolates = alpha * real_data + (1 - alpha) * fake_data
    interpolates.requires_grad_(True)
    disc_interpolates = netD(interpolates)
    gradients = autograd.grad(
        outputs=disc_interpolates,
        inputs=interpolates,
        grad_outputs=torch.ones_like(disc_interpolates),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA


def main():
    torch.manual_seed(1)
    netG, netD = Generator(), Discriminator()
    optimizerD = optim.Adam(netD.parameters(), lr=1e-4, betas=(0.5, 0.9))
    optimizerG = optim.Adam(netG.parameters(), lr=1e-4, betas=(0.5, 0.9))
    data = inf_train_gen()
    for iteration in range(3):
        for _ in range(CRITIC_ITERS):
            real = next(data)
            netD.zero_grad()
            D_real = netD(real).mean()
            (-D_real).backward()
            with torch.no_grad():
                fake = netG(torch.randn(BATCH_SIZE, 2), real)
            D_fake = netD(fake).mean()
            D_fake.backward()
            gradient_penalty = calc_gradient_penalty(netD, real, fake)
            gradient_penalty.backward()
            wasserstein = (D_real - D_fake).item()
            optimizerD.step()

        netG.zero_grad()
        G = -netD(netG(torch.randn(BATCH_SIZE, 2), next(data))).mean()
        G.backward()
        optimizerG.step()
        print(f"iteration {iteration}: wasserstein {wasserstein:.4f}, penalty {gradient_penalty.item():.4f}")


if __name__ == "__main__":
    main()
