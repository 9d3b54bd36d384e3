from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import nn


class UNet(nn.Module):
    def __init__(self, channels=4, context=6):
        super().__init__()
        self.time = nn.Linear(1, channels)
        self.ctx = nn.Linear(context, channels)
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, sample, timestep, encoder_hidden_states):
        t = self.time(torch.full((1, 1), float(timestep)))
        c = self.ctx(encoder_hidden_states).mean(dim=1)
        h = self.conv(sample) * torch.sigmoid(t + c)[:, :, None, None]
        return SimpleNamespace(sample=h)


class TextEncoder(nn.Module):
    def __init__(self, vocab=10, dim=6):
        super().__init__()
        self.token = nn.Embedding(vocab, dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, ids):
        return [torch.tanh(self.proj(self.token(ids)))]


class NullInversion:
    def __init__(self, steps=2):
        self.unet, self.text_encoder = UNet(), TextEncoder()
        for p in self.unet.parameters():
            p.requires_grad_(False)
        self.timesteps = list(range(steps))[::-1]
        self.context = None

    def init_prompt(self, ids):
        uncond = self.text_encoder(torch.zeros_like(ids))[0]
        cond = self.text_encoder(ids)[0]
        self.context = torch.cat([uncond, cond])

    def null_optimization(self, latents, num_inner_steps=3):
        uncond_embeddings, cond_embeddings = self.context.chunk(2)
        uncond_embeddings_list = []
        latent_cur = latents[-1]
        for i, t in enumerate(self.timesteps):
            uncond_embeddings = uncond_embeddings.clone().detach()
            uncond_embeddings.requires_grad = True
            optimizer = torch.optim.Adam([uncond_embeddings], lr=1e-2)
            latent_prev = latents[len(latents) - i - 2]
            with torch.no_grad():
                noise_pred_cond = self.unet(latent_cur, t, cond_embeddings).sample
            for j in range(num_inner_steps):
                noise_pred_uncond = self.unet(latent_cur, t, uncond_embeddings).sample
                noise_pred = noise_pred_uncond + 7.5 * (noise_pred_cond - noise_pred_uncond)
                loss = F.mse_loss(latent_cur - 0.1 * noise_pred, latent_prev)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            uncond_embeddings_list.append(uncond_embeddings[:1].detach())
        return uncond_embeddings_list


inversion = NullInversion()
inversion.init_prompt(torch.tensor([[1, 2, 3]]))
print(len(inversion.null_optimization([torch.rand(1, 4, 4, 4) for _ in range(3)])))
