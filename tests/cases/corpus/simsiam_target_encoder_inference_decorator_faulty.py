import torch
import torch.nn as nn
import torch.nn.functional as F


class BYOL(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.online = nn.Sequential(nn.Linear(dim, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4))
        self.target = nn.Sequential(nn.Linear(dim, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4))
        self.predictor = nn.Linear(4, 4)
        self.target.load_state_dict(self.online.state_dict())
        for p in self.target.parameters():
            p.requires_grad = False

    @torch.inference_mode()
    def target_project(self, x):
        return F.normalize(self.target(x), dim=1)

    @torch.no_grad()
    def momentum_update(self, m=0.99):
        for po, pt in zip(self.online.parameters(), self.target.parameters()):
            pt.mul_(m).add_(po, alpha=1 - m)

    def forward(self, x1, x2):
        p1 = F.normalize(self.predictor(self.online(x1)), dim=1)
        t2 = self.target_project(x2)
        return 2 - 2 * (p1 * t2).sum(dim=1).mean()  # error: [inference-tensor-saved] # raises: RuntimeError "Inference tensors"


model = BYOL()
opt = torch.optim.SGD([*model.online.parameters(), *model.predictor.parameters()], lr=0.1)
for _ in range(2):
    x = torch.randn(6, 8)
    loss = model(x + 0.1 * torch.randn_like(x), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    model.momentum_update()
