import torch
import torch.nn.functional as F


def elbo_terms(reconstruction, x, mu, logvar):
    recon = F.mse_loss(reconstruction, x)
    kl = -0.5 * torch.mean(torch.sum(1 + logvar - mu**2 - logvar.exp(), dim=1))
    return recon, kl
