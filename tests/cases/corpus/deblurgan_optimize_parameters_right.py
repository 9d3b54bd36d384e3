import torch
import torch.nn as nn


class DiscLoss:
    def __init__(self):
        self.criterion = nn.BCEWithLogitsLoss()

    def get_g_loss(self, net, fakeB):
        pred_fake = net.forward(fakeB)
        return self.criterion(pred_fake, torch.ones_like(pred_fake))

    def get_loss(self, net, fakeB, realB):
        self.pred_fake = net.forward(fakeB.detach())
        self.loss_D_fake = self.criterion(self.pred_fake, torch.zeros_like(self.pred_fake))
        self.pred_real = net.forward(realB)
        self.loss_D_real = self.criterion(self.pred_real, torch.ones_like(self.pred_real))
        return (self.loss_D_fake + self.loss_D_real) * 0.5


class ConditionalGAN:
    def name(self):
        return "ConditionalGANModel"

    def initialize(self, opt):
        self.opt = opt
        self.netG = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.InstanceNorm2d(4), nn.ReLU(True), nn.Conv2d(4, 3, 3, padding=1), nn.Tanh())
        self.netD = nn.Sequential(nn.Conv2d(3, 4, 3), nn.LeakyReLU(0.2, True), nn.Conv2d(4, 1, 3))
        self.optimizer_G = torch.optim.Adam(self.netG.parameters(), lr=opt["lr"], betas=(opt["beta1"], 0.999))
        self.optimizer_D = torch.optim.Adam(self.netD.parameters(), lr=opt["lr"], betas=(opt["beta1"], 0.999))
        self.contentLoss = nn.L1Loss()
        self.discLoss = DiscLoss()

    def set_input(self, input):
        self.input_A = input["A"]
        self.input_B = input["B"]

    def forward(self):
        self.real_A = self.input_A
        self.fake_B = self.netG.forward(self.real_A)
        self.real_B = self.input_B

    def backward_D(self):
        self.loss_D = self.discLoss.get_loss(self.netD, self.fake_B, self.real_B)
        self.loss_D.backward()

    def backward_G(self):
        self.loss_G_GAN = self.discLoss.get_g_loss(self.netD, self.fake_B)
        self.loss_G_Content = self.contentLoss(self.fake_B, self.real_B) * 100
        self.loss_G = self.loss_G_GAN + self.loss_G_Content
        self.loss_G.backward()

    def optimize_parameters(self):
        self.forward()
        for _ in range(1):
            self.optimizer_D.zero_grad()
            self.backward_D()
            self.optimizer_D.step()
        self.optimizer_G.zero_grad()
        self.backward_G()
        self.optimizer_G.step()


def train(opt, dataset, model):
    total_steps = 0
    for epoch in range(opt["niter"]):
        for i, data in enumerate(dataset):
            total_steps += 1
            model.set_input(data)
            model.optimize_parameters()


opt = {"lr": 2e-4, "beta1": 0.5, "niter": 2}
model = ConditionalGAN()
model.initialize(opt)
dataset = [{"A": torch.rand(1, 3, 8, 8), "B": torch.rand(1, 3, 8, 8)} for _ in range(3)]
train(opt, dataset, model)
