import torch
import torch.nn as nn

z_dim, x_dim = 4, 2
G = nn.Sequential(nn.Linear(z_dim, 16), nn.ReLU(), nn.Linear(16, x_dim))
D = nn.Sequential(nn.Linear(x_dim, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3)
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
step = 0
noise = torch.randn(8, z_dim)
fake = G(noise)

while step < 20:
    fake = G(torch.randn(8, z_dim))
    if step % 2 == 0:
        real = torch.randn(8, x_dim)
        loss_d = bce(D(real), torch.ones(8, 1)) + bce(D(fake.detach()), torch.zeros(8, 1))
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
    else:
        loss_g = bce(D(fake), torch.ones(8, 1))
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
    step += 1
    if step % 10 == 0:
        print(step)
