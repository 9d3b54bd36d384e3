"""A style term that is rebuilt as a tensor."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))

    def forward(self, x):
        return self.net(x)


class StyleTrainer:
    def __init__(self, generator, percep, style_encoder, lr=1e-3):
        self.g, self.percep, self.style = generator, percep.requires_grad_(False), style_encoder
        self.opt = torch.optim.Adam([*self.g.parameters(), *self.style.parameters()], lr=lr)

    def step(self, content, style_img):
        code = self.style(style_img)
        out = self.g(content)
        rec = F.l1_loss(out, content)
        style_loss = F.mse_loss(self.percep(out), self.percep(content)) + code.pow(2).mean()
        self.opt.zero_grad()
        total = rec + torch.tensor(0.1 * style_loss)  # warning: [unreached-parameter]
        total.backward()
        self.opt.step()
        return {"rec": rec.item(), "style": style_loss.item()}


g, style = nn.Linear(6, 6), nn.Linear(6, 2)
trainer = StyleTrainer(g, Critic(), style)
for i in range(3):
    print(trainer.step(torch.randn(4, 6), torch.randn(4, 6)))

# torch: style.weight.grad is None
