import torch
import torch.nn as nn
import torch.nn.functional as F


class WorldModel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.encoder = nn.Sequential(nn.Linear(cfg["obs"], 16), nn.ELU(), nn.Linear(16, cfg["latent"]))
        self.dynamics = nn.GRUCell(cfg["act"], cfg["latent"])
        self.reward = nn.Linear(cfg["latent"], 1)
        self.logged = {}

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.cfg["lr"])

    def rollout(self, obs, actions):
        z = self.encoder(obs[:, 0])
        states = []
        for t in range(actions.size(1)):
            z = self.dynamics(actions[:, t], z)
            states.append(z)
        return torch.stack(states, 1)

    def training_step(self, batch, batch_idx):
        obs, actions, rewards = batch
        pred = self.rollout(obs, actions)
        with torch.no_grad():
            target = self.encoder(obs[:, 1:])
        loss = F.mse_loss(pred, target) + F.mse_loss(self.reward(pred).squeeze(-1), rewards)
        norm = nn.utils.clip_grad_norm_(self.parameters(), self.cfg["clip"])  # warning: [clip-without-gradient]
        self.logged = {"loss": loss.item(), "norm": float(norm)}
        return loss
