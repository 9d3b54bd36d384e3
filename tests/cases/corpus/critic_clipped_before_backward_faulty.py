"""A Wasserstein GAN that clips its weights beside the backward."""

import torch
import torch.nn as nn

latent, clip_value, n_critic = 5, 0.01, 2
generator = nn.Sequential(nn.Linear(latent, 16), nn.ReLU(), nn.Linear(16, 4))
critic = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
optimizer_G = torch.optim.RMSprop(generator.parameters(), lr=5e-5)
optimizer_D = torch.optim.RMSprop(critic.parameters(), lr=5e-5)
real_data = [torch.randn(8, 4) for _ in range(4)]

grads = []
for epoch in range(2):
    for i, real_imgs in enumerate(real_data):
        optimizer_D.zero_grad()
        z = torch.randn(real_imgs.shape[0], latent)
        fake_imgs = generator(z).detach()
        loss_D = -torch.mean(critic(real_imgs)) + torch.mean(critic(fake_imgs))
        expected = torch.autograd.grad(loss_D, critic[0].weight, retain_graph=True)[0]
        for p in critic.parameters():
            p.data.clamp_(-clip_value, clip_value)  # warning: [data-mutation]
        loss_D.backward()
        grads.append(torch.allclose(critic[0].weight.grad, expected))
        optimizer_D.step()
        if i % n_critic == 0:
            optimizer_G.zero_grad()
            loss_G = -torch.mean(critic(generator(z)))
            loss_G.backward()
            optimizer_G.step()
    print("[Epoch %d] [D loss: %f] [G loss: %f]" % (epoch, loss_D.item(), loss_G.item()))

# torch: not grads[0]
