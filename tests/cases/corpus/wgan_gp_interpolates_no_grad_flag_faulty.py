import torch
import torch.nn as nn
from torch import autograd

LAMBDA = 10
ITERS = 2
CRITIC_ITERS = 2
BATCH = 8


def calc_gradient_penalty(netD, real_data, fake_data):
    alpha = torch.rand(BATCH, 1).expand(real_data.size())
    interpolates = alpha * real_data + ((1 - alpha) * fake_data)
    disc_interpolates = netD(interpolates)
    gradients = autograd.grad(  # error: [detached-loss] # raises: RuntimeError "does not require grad"
        outputs=disc_interpolates,
        inputs=interpolates,
        grad_outputs=torch.ones(disc_interpolates.size()),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA


netG = nn.Sequential(nn.Linear(2, 16), nn.ReLU(True), nn.Linear(16, 2))
netD = nn.Sequential(nn.Linear(2, 16), nn.ReLU(True), nn.Linear(16, 1))
optimizerD = torch.optim.Adam(netD.parameters(), lr=1e-4, betas=(0.5, 0.9))
optimizerG = torch.optim.Adam(netG.parameters(), lr=1e-4, betas=(0.5, 0.9))


def inf_train_gen():
    while True:
        yield torch.randn(BATCH, 2)


data = inf_train_gen()
for iteration in range(ITERS):
    for p in netD.parameters():
        p.requires_grad = True
    for iter_d in range(CRITIC_ITERS):
        real_data = next(data)
        netD.zero_grad()
        D_real = netD(real_data).mean()
        D_real.backward(torch.tensor(-1.0))
        with torch.no_grad():
            noisev = torch.randn(BATCH, 2)
        fake = netG(noisev).data
        D_fake = netD(fake).mean()
        D_fake.backward(torch.tensor(1.0))
        gradient_penalty = calc_gradient_penalty(netD, real_data.data, fake.data)
        gradient_penalty.backward()
        optimizerD.step()
    for p in netD.parameters():
        p.requires_grad = False
    netG.zero_grad()
    G = netD(netG(torch.randn(BATCH, 2))).mean()
    G.backward(torch.tensor(-1.0))
    optimizerG.step()
