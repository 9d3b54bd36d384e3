"""A GAN that paints sine curves."""

import math

import torch
import torch.nn as nn

BATCH_SIZE = 16
LR_G = 1e-4
LR_D = 1e-4
N_IDEAS = 5
ART_COMPONENTS = 15
PAINT_POINTS = torch.linspace(-1, 1, ART_COMPONENTS).repeat(BATCH_SIZE, 1)

torch.manual_seed(1)


def artist_works():
    r = 0.02 * torch.randn(1, ART_COMPONENTS)
    return torch.sin(PAINT_POINTS * math.pi) + r


G = nn.Sequential(
    nn.Linear(N_IDEAS, 32),
    nn.ReLU(),
    nn.Linear(32, ART_COMPONENTS),
)

D = nn.Sequential(
    nn.Linear(ART_COMPONENTS, 32),
    nn.ReLU(),
    nn.Linear(32, 1),
    nn.Sigmoid(),
)

opt_D = torch.optim.Adam(D.parameters(), lr=LR_D)
opt_G = torch.optim.Adam(G.parameters(), lr=LR_G)

for step in range(6):
    artist_paintings = artist_works()
    G_ideas = torch.randn(BATCH_SIZE, N_IDEAS)
    G_paintings = G(G_ideas)

    prob_artist0 = D(artist_paintings)
    prob_artist1 = D(G_paintings)

    D_loss = -torch.mean(torch.log(prob_artist0) + torch.log(1.0 - prob_artist1))
    G_loss = torch.mean(torch.log(1.0 - prob_artist1))

    opt_D.zero_grad()
    D_loss.backward(retain_graph=True)
    opt_G.zero_grad()
    G_loss.backward(inputs=list(G.parameters()))

    opt_D.step()
    opt_G.step()

    if step % 2 == 0:
        accuracy = prob_artist0.detach().mean().item()
        print(f"step {step}: D accuracy {accuracy:.2f}, D score {-D_loss.item():.2f}, G loss {G_loss.item():.2f}")
