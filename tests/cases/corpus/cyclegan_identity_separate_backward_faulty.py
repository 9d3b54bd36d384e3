import itertools

import torch
import torch.nn as nn


class Generator(nn.Module):
    def __init__(self, nf=4):
        super().__init__()
        self.model = nn.Sequential(
            nn.ReflectionPad2d(1), nn.Conv2d(3, nf, 3), nn.InstanceNorm2d(nf), nn.ReLU(inplace=True), nn.Conv2d(nf, 3, 1), nn.Tanh()
        )

    def forward(self, x):
        return self.model(x)


class Discriminator(nn.Module):
    def __init__(self, nf=4):
        super().__init__()
        self.model = nn.Sequential(nn.Conv2d(3, nf, 3, 2), nn.LeakyReLU(0.2, inplace=True), nn.Conv2d(nf, 1, 3, padding=1))

    def forward(self, x):
        x = self.model(x)
        return nn.functional.avg_pool2d(x, x.size()[2:]).view(x.size(0), -1)


netG_A2B, netG_B2A, netD_A, netD_B = Generator(), Generator(), Discriminator(), Discriminator()
criterion_GAN, criterion_cycle, criterion_identity = nn.MSELoss(), nn.L1Loss(), nn.L1Loss()
optimizer_G = torch.optim.Adam(itertools.chain(netG_A2B.parameters(), netG_B2A.parameters()), lr=2e-4)
optimizer_D_B = torch.optim.Adam(netD_B.parameters(), lr=2e-4)
target_real, target_fake = torch.ones(1, 1), torch.zeros(1, 1)

for epoch in range(2):
    for i, batch in enumerate([{"A": torch.rand(1, 3, 8, 8), "B": torch.rand(1, 3, 8, 8)}]):
        real_A, real_B = batch["A"], batch["B"]
        optimizer_G.zero_grad()
        fake_B = netG_A2B(real_A)
        loss_GAN_A2B = criterion_GAN(netD_B(fake_B), target_real)
        recovered_A = netG_B2A(fake_B)
        loss_cycle_ABA = criterion_cycle(recovered_A, real_A) * 10.0
        same_B = netG_A2B(real_B)
        loss_identity_B = criterion_identity(same_B, real_B) * 5.0
        loss_G = loss_identity_B + loss_GAN_A2B + loss_cycle_ABA
        loss_G.backward()
        optimizer_G.step()

        optimizer_D_B.zero_grad()
        pred_real = netD_B(real_B)
        pred_fake = netD_B(fake_B)
        loss_D_B = (criterion_GAN(pred_real, target_real) + criterion_GAN(pred_fake, target_fake)) * 0.5
        loss_D_B.backward()  # error: [double-backward] # raises: RuntimeError "through the graph a second time"
        optimizer_D_B.step()
