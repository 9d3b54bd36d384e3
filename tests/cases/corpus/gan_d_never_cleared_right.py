import torch
import torch.nn as nn
import torch.optim as optim


class Mapper(nn.Module):
    def __init__(self, dims, out_act=None):
        super().__init__()
        layers = []
        for i in range(len(dims) - 1):
            layers.append(nn.Linear(dims[i], dims[i + 1]))
            if i < len(dims) - 2:
                layers.append(nn.LeakyReLU(0.2))
        if out_act is not None:
            layers.append(out_act)
        self.seq = nn.Sequential(*layers)

    def forward(self, x):
        return self.seq(x)


def d_logistic_loss(real_pred, fake_pred):
    return nn.functional.softplus(-real_pred).mean() + nn.functional.softplus(fake_pred).mean()


def training_loop_encoder(num_steps, batch_size):
    E, G, D = Mapper([8, 16, 4]), Mapper([4, 16, 8]), Mapper([8, 16, 1])
    for p in G.parameters():
        p.requires_grad_(False)
    optimizer_E = optim.Adam(E.parameters(), lr=1e-4)
    optimizer_D = optim.Adam(D.parameters(), lr=1e-4)
    for step in range(num_steps):
        real = torch.rand(batch_size, 8)
        rec = G(E(real))
        loss_pix = torch.mean((rec - real) ** 2)
        loss_adv = nn.functional.softplus(-D(rec)).mean()
        E_loss = loss_pix + 0.1 * loss_adv
        optimizer_E.zero_grad()
        E_loss.backward()
        optimizer_E.step()

        rec = G(E(real)).detach()
        D_loss = d_logistic_loss(D(real), D(rec))
        optimizer_D.zero_grad()
        D_loss.backward()
        optimizer_D.step()
        print(f"Step:{step} E_loss:{E_loss.item():.4f} D_loss:{D_loss.item():.4f}")
    return D


D = training_loop_encoder(4, 4)
