import itertools
import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class ResnetBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv_block = nn.Sequential(
            nn.ReflectionPad2d(1),
            nn.Conv2d(dim, dim, 3),
            nn.InstanceNorm2d(dim),
            nn.ReLU(True),
        )

    def forward(self, x):
        return x + self.conv_block(x)


def define_G(ngf=4):
    return nn.Sequential(nn.Conv2d(1, ngf, 3, padding=1), ResnetBlock(ngf), nn.Conv2d(ngf, 1, 3, padding=1), nn.Tanh())


def define_D(ndf=4):
    return nn.Sequential(
        nn.Conv2d(1, ndf, 4, stride=2, padding=1),
        nn.LeakyReLU(0.2, True),
        nn.Conv2d(ndf, 1, 4, stride=2, padding=1),
    )


class ImagePool:
    def __init__(self, size):
        self.size = size
        self.images = []

    def query(self, images):
        if len(self.images) < self.size:
            self.images.append(images.detach())
            return self.images[-1]
        index = random.randrange(self.size)
        old, self.images[index] = self.images[index], images.detach()
        return old


class CycleGANModel:
    def __init__(self, lambda_cycle=10.0):
        self.netG_A, self.netG_B = define_G(), define_G()
        self.netD_A, self.netD_B = define_D(), define_D()
        self.lambda_cycle = lambda_cycle
        self.criterionGAN = nn.MSELoss()
        self.criterionCycle = nn.L1Loss()
        self.optimizer_G = torch.optim.Adam(
            itertools.chain(self.netG_A.parameters(), self.netG_B.parameters()), lr=2e-4, betas=(0.5, 0.999)
        )
        self.optimizer_D = torch.optim.Adam(
            itertools.chain(self.netD_A.parameters(), self.netD_B.parameters()), lr=2e-4, betas=(0.5, 0.999)
        )
        self.fake_pool = ImagePool(4)

    def set_input(self, batch):
        self.real_A, self.real_B = batch

    def forward(self):
        self.fake_B = self.netG_A(self.real_A)
        self.rec_A = self.netG_B(self.fake_B)
        self.fake_A = self.netG_B(self.real_B)
        self.rec_B = self.netG_A(self.fake_A)

    def loss_G(self):
        pred_A, pred_B = self.netD_A(self.fake_B), self.netD_B(self.fake_A)
        gan = self.criterionGAN(pred_A, torch.ones_like(pred_A)) + self.criterionGAN(pred_B, torch.ones_like(pred_B))
        cycle = self.criterionCycle(self.rec_A, self.real_A) + self.criterionCycle(self.rec_B, self.real_B)
        return gan + self.lambda_cycle * cycle

    def backward_D(self, netD, real, fake):
        pred_real = netD(real)
        pred_fake = netD(fake.detach())
        loss = 0.5 * (
            self.criterionGAN(pred_real, torch.ones_like(pred_real))
            + self.criterionGAN(pred_fake, torch.zeros_like(pred_fake))
        )
        loss.backward()
        return loss

    def optimize_parameters(self):
        self.forward()
        loss_G = self.loss_G()

        self.optimizer_D.zero_grad()
        loss_D_A = self.backward_D(self.netD_A, self.real_B, self.fake_pool.query(self.fake_B))
        loss_D_B = self.backward_D(self.netD_B, self.real_A, self.fake_A)
        self.optimizer_D.step()  # error: [parameter-updated-before-backward]

        self.optimizer_G.zero_grad()
        loss_G.backward()  # raises: RuntimeError "modified by an inplace operation"
        self.optimizer_G.step()
        return loss_G.item(), (loss_D_A + loss_D_B).item()


if __name__ == "__main__":
    random.seed(0)
    torch.manual_seed(0)
    data = TensorDataset(torch.rand(8, 1, 8, 8) * 2 - 1, torch.rand(8, 1, 8, 8) * 2 - 1)
    model = CycleGANModel()
    for batch in DataLoader(data, batch_size=2):
        model.set_input(batch)
        g, d = model.optimize_parameters()
        print(f"G {g:.3f} D {d:.3f}")
