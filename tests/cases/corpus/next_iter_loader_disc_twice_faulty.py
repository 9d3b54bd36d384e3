import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

critic = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
gen = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
loader = DataLoader(TensorDataset(torch.randn(64, 2)), batch_size=8, shuffle=True)
data_iter = iter(loader)
opt_c = torch.optim.RMSprop(critic.parameters(), lr=5e-5)
opt_g = torch.optim.RMSprop(gen.parameters(), lr=5e-5)
one = torch.tensor(1.0)
mone = one * -1

for iteration in range(2):
    z = torch.randn(8, 2)
    fake = gen(z)
    for _ in range(3):
        try:
            (real,) = next(data_iter)
        except StopIteration:
            data_iter = iter(loader)
            (real,) = next(data_iter)
        critic.zero_grad()
        D_real = critic(real).mean()
        D_real.backward(mone)
        D_fake = critic(fake).mean()
        D_fake.backward(one)  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
        opt_c.step()
        for p in critic.parameters():
            p.data.clamp_(-0.01, 0.01)
    gen.zero_grad()
    G_loss = critic(gen(torch.randn(8, 2))).mean()
    G_loss.backward(mone)
    opt_g.step()
