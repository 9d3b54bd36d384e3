"""A GAN with several steps of the discriminator in a closure."""

import torch
import torch.nn as nn
import torch.nn.functional as F


def GAN_training_function(G, D, G_optim, D_optim, config):
    def train(x):
        G_optim.zero_grad()
        D_optim.zero_grad()
        counter = 0
        for step_index in range(config["num_D_steps"]):
            D_optim.zero_grad()
            z = torch.randn(x.size(0), config["dim_z"])
            with torch.no_grad():
                fake = G(z)
            D_fake, D_real = D(fake), D(x)
            D_loss = F.relu(1.0 - D_real).mean() + F.relu(1.0 + D_fake).mean()
            D_loss.backward()
            D_optim.step()
            counter += 1
        G_optim.zero_grad()
        G_loss = -D(G(torch.randn(x.size(0), config["dim_z"]))).mean()
        G_loss.backward()
        G_optim.step()
        return {"G_loss": float(G_loss.item()), "D_loss": float(D_loss.item())}

    return train


def run(config):
    G = nn.Sequential(nn.Linear(config["dim_z"], 12), nn.ReLU(), nn.Linear(12, 3))
    D = nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 1))
    G_optim = torch.optim.Adam(G.parameters(), lr=1e-4, betas=(0.0, 0.999))
    D_optim = torch.optim.Adam(D.parameters(), lr=4e-4, betas=(0.0, 0.999))
    train = GAN_training_function(G, D, G_optim, D_optim, config)
    for epoch in range(2):
        for x in [torch.randn(8, 3) for _ in range(2)]:
            metrics = train(x)
        print(epoch, metrics)
    return D


D = run({"num_D_steps": 3, "dim_z": 5})

# torch: D[0].weight.grad is not None
