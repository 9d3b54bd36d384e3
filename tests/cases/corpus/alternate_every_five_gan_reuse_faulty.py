import torch
import torch.nn as nn

n_critic = 5
netG = nn.Sequential(nn.Linear(8, 16), nn.ReLU(True), nn.Linear(16, 2))
netD = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2, True), nn.Linear(16, 1))
optG = torch.optim.RMSprop(netG.parameters(), lr=5e-5)
optD = torch.optim.RMSprop(netD.parameters(), lr=5e-5)
batches_done = 0

for epoch in range(3):
    for i, real in enumerate(torch.randn(20, 4, 2)):
        optD.zero_grad()
        z = torch.randn(real.shape[0], 8)
        fake = netG(z)
        loss_D = -torch.mean(netD(real)) + torch.mean(netD(fake))
        loss_D.backward()
        optD.step()
        for p in netD.parameters():
            p.data.clamp_(-0.01, 0.01)
        if i % n_critic == 0:
            optG.zero_grad()
            loss_G = -torch.mean(netD(fake))
            loss_G.backward()  # error: [double-backward] # raises: RuntimeError "through the graph a second time"
            optG.step()
            print("[Epoch %d] [D loss: %f] [G loss: %f]" % (epoch, loss_D.item(), loss_G.item()))
        batches_done += 1
