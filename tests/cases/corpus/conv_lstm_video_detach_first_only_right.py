import torch
from torch import nn


class ConvGRU(nn.Module):
    def __init__(self, cin, ch):
        super().__init__()
        self.ch = ch
        self.gates = nn.Conv2d(cin + ch, 2 * ch, 3, padding=1)
        self.cand = nn.Conv2d(cin + ch, ch, 3, padding=1)

    def forward(self, x, h):
        z, r = torch.sigmoid(self.gates(torch.cat([x, h], 1))).chunk(2, 1)
        n = torch.tanh(self.cand(torch.cat([x, r * h], 1)))
        return (1 - z) * h + z * n


class Deblur(nn.Module):
    def __init__(self, ch=4):
        super().__init__()
        self.enc, self.cell, self.dec = nn.Conv2d(1, ch, 3, padding=1), ConvGRU(ch, ch), nn.Conv2d(ch, 1, 3, padding=1)
        self.ch = ch

    def forward(self, frame, state=None):
        f = torch.relu(self.enc(frame))
        if state is None:
            state = torch.zeros(frame.size(0), self.ch, *frame.shape[2:])
        state = self.cell(f, state)
        return frame + self.dec(state), state


def fit(net, clips, optimizer, frames_per_step=2):
    for clip, sharp in clips:
        state, acc, n = None, 0.0, 0
        for i, (frame, target) in enumerate(zip(clip, sharp)):
            out, state = net(frame, state)
            acc = acc + (out - target).abs().mean()
            n += 1
            if n == frames_per_step:
                optimizer.zero_grad()
                acc.backward()
                optimizer.step()
                acc, n = 0.0, 0
                state = state.detach()
        yield i + 1


torch.manual_seed(0)
net = Deblur()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
clips = [(torch.rand(6, 1, 1, 5, 5), torch.rand(6, 1, 1, 5, 5)) for _ in range(2)]
print(sum(fit(net, clips, opt)))
