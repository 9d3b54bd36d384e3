"""Image-to-image with a patch critic, in the way of a well-known code base, shortened."""
import itertools
import torch
import torch.nn as nn


class BaseModel:
    def __init__(self, opt):
        self.opt = opt
        self.nets, self.optimizers, self.losses = {}, {}, {}

    def add(self, name, net):
        self.nets[name] = net
        self.optimizers[name] = torch.optim.Adam(net.parameters(), lr=self.opt.lr)
        setattr(self, "net" + name, net)

    @staticmethod
    def requires_grad(net, flag):
        for p in net.parameters():
            p.requires_grad_(flag)


class Options:
    lr = 1e-3
    lambda_l1 = 10.0


class Pix(BaseModel):
    def __init__(self, opt):
        super().__init__(opt)
        self.add("G", nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(True), nn.Conv2d(4, 1, 3, padding=1)))
        self.add("D", nn.Sequential(nn.Conv2d(2, 4, 3), nn.LeakyReLU(0.2, True), nn.Conv2d(4, 1, 3)))
        self.gan = nn.MSELoss()

    def d_loss(self, a, b, fake):
        real = self.netD(torch.cat((a, b), 1))
        false = self.netD(torch.cat((a, fake.detach()), 1))
        return 0.5 * (self.gan(real, torch.ones_like(real)) + self.gan(false, torch.zeros_like(false)))

    def g_loss(self, a, b, fake):
        pred = self.netD(torch.cat((a, fake), 1))
        return self.gan(pred, torch.ones_like(pred)) + self.opt.lambda_l1 * (fake - b).abs().mean()

    def optimize(self, a, b):
        fake = self.netG(a)
        self.requires_grad(self.netD, True)
        self.optimizers["D"].zero_grad()
        loss_d = self.d_loss(a, b, fake)
        loss_d.backward()
        self.optimizers["D"].step()
        self.requires_grad(self.netD, False)
        self.optimizers["G"].zero_grad()
        loss_g = self.g_loss(a, b, fake)
        loss_g.backward()
        self.optimizers["G"].step()
        self.losses = {"D": loss_d.item(), "G": loss_g.item()}


torch.manual_seed(0)
model = Pix(Options())
for epoch, i in itertools.product(range(2), range(2)):
    model.optimize(torch.rand(1, 1, 6, 6), torch.rand(1, 1, 6, 6))
    print(epoch, i, model.losses)
