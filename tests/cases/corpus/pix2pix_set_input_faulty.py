import itertools

import torch
from torch import nn


class BaseModel:
    def __init__(self, opt):
        self.opt = opt
        self.optimizers = []
        self.loss_names = []

    def set_requires_grad(self, nets, requires_grad=False):
        if not isinstance(nets, list):
            nets = [nets]
        for net in nets:
            for p in net.parameters():
                p.requires_grad = requires_grad

    def get_current_losses(self):
        return {name: float(getattr(self, "loss_" + name)) for name in self.loss_names}


class Pix2PixModel(BaseModel):
    def __init__(self, opt):
        super().__init__(opt)
        self.loss_names = ["G_GAN", "G_L1", "D"]
        self.netG = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.Tanh(), nn.Conv2d(4, 1, 3, padding=1))
        self.netD = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.LeakyReLU(0.2), nn.Conv2d(4, 1, 3))
        self.criterionGAN = nn.BCEWithLogitsLoss()
        self.criterionL1 = nn.L1Loss()
        self.optimizer_G = torch.optim.Adam(self.netG.parameters(), lr=opt["lr"])
        self.optimizer_D = torch.optim.Adam(self.netD.parameters(), lr=opt["lr"])
        self.optimizers.append(self.optimizer_G)
        self.optimizers.append(self.optimizer_D)

    def set_input(self, batch):
        self.real_A = batch["A"]
        self.real_B = batch["B"]

    def forward(self):
        self.fake_B = self.netG(self.real_A)

    def backward_D(self):
        fake_AB = torch.cat((self.real_A, self.fake_B), 1)
        pred_fake = self.netD(fake_AB)
        loss_fake = self.criterionGAN(pred_fake, torch.zeros_like(pred_fake))
        pred_real = self.netD(torch.cat((self.real_A, self.real_B), 1))
        loss_real = self.criterionGAN(pred_real, torch.ones_like(pred_real))
        self.loss_D = (loss_fake + loss_real) * 0.5
        self.loss_D.backward()

    def backward_G(self):
        fake_AB = torch.cat((self.real_A, self.fake_B), 1)
        pred_fake = self.netD(fake_AB)
        self.loss_G_GAN = self.criterionGAN(pred_fake, torch.ones_like(pred_fake))
        self.loss_G_L1 = self.criterionL1(self.fake_B, self.real_B) * self.opt["lambda_L1"]
        self.loss_G = self.loss_G_GAN + self.loss_G_L1
        self.loss_G.backward()  # error: [double-backward] # raises: RuntimeError "second time"

    def optimize_parameters(self):
        self.forward()
        self.set_requires_grad(self.netD, True)
        self.optimizer_D.zero_grad()
        self.backward_D()
        self.optimizer_D.step()
        self.set_requires_grad(self.netD, False)
        self.optimizer_G.zero_grad()
        self.backward_G()
        self.optimizer_G.step()


def dataset(n):
    for _ in range(n):
        yield {"A": torch.rand(2, 1, 8, 8), "B": torch.rand(2, 1, 8, 8), "A_paths": "x.png"}


if __name__ == "__main__":
    opt = {"lr": 2e-4, "lambda_L1": 100.0, "niter": 1, "niter_decay": 1}
    model = Pix2PixModel(opt)
    total_iters = 0
    for epoch in range(1, opt["niter"] + opt["niter_decay"] + 1):
        for i, data in enumerate(dataset(3)):
            total_iters += 1
            model.set_input(data)
            model.optimize_parameters()
            if total_iters % 2 == 0:
                print(epoch, model.get_current_losses())
