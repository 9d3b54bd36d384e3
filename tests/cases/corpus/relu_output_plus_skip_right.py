import torch
from torch import nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.stages = nn.ModuleList(nn.Conv1d(a, b, 3, stride=2, padding=1) for a, b in zip(widths, widths[1:]))

    def forward(self, x):
        feats = []
        for stage in self.stages:
            x = F.relu(stage(x))
            feats.append(x)
        return feats


class Decoder(nn.Module):
    def __init__(self, widths):
        super().__init__()
        rev = widths[::-1]
        self.ups = nn.ModuleList(nn.ConvTranspose1d(a, b, 4, stride=2, padding=1) for a, b in zip(rev, rev[1:]))

    def forward(self, feats):
        x = feats.pop()
        for up in self.ups:
            x = F.relu(up(x))
            if feats:
                skip = feats.pop()
                x = x + skip
        return x


class Separator(nn.Module):
    def __init__(self, widths=(1, 4, 8)):
        super().__init__()
        widths = list(widths)
        self.encoder = Encoder(widths)
        self.decoder = Decoder(widths)
        self.mask = nn.Conv1d(widths[0], 1, 1)

    def forward(self, mix):
        return torch.sigmoid(self.mask(self.decoder(self.encoder(mix)))) * mix


def si_snr(est, ref, eps=1e-8):
    est, ref = est - est.mean(-1, keepdim=True), ref - ref.mean(-1, keepdim=True)
    proj = (est * ref).sum(-1, keepdim=True) * ref / (ref.pow(2).sum(-1, keepdim=True) + eps)
    return 10 * torch.log10(proj.pow(2).sum(-1) / ((est - proj).pow(2).sum(-1) + eps) + eps)


def train(model, loader, optimizer, epochs=1, grad_clip=5.0):
    for epoch in range(epochs):
        running = 0.0
        for mix, ref in loader:
            loss = -si_snr(model(mix), ref).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
            optimizer.step()
            running += loss.item()
    return running


torch.manual_seed(0)
model = Separator()
loader = [(torch.randn(2, 1, 16), torch.randn(2, 1, 16)) for _ in range(2)]
train(model, loader, torch.optim.Adam(model.parameters()))
