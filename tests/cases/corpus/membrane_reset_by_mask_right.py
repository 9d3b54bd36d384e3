import torch
import torch.nn as nn


def heaviside(u):
    class Step(torch.autograd.Function):
        @staticmethod
        def forward(ctx, v):
            ctx.save_for_backward(v)
            return (v >= 0).to(v)

        @staticmethod
        def backward(ctx, g):
            (v,) = ctx.saved_tensors
            return g * torch.clamp(1 - v.abs(), min=0)

    return Step.apply(u)


class IzhikevichLike(nn.Module):
    def __init__(self, n_in, n_out, tau=2.0):
        super().__init__()
        self.fc = nn.Linear(n_in, n_out)
        self.tau = nn.Parameter(torch.tensor(tau))

    def forward(self, seq):
        v = torch.zeros(seq.size(1), self.fc.out_features)
        spikes = []
        for x in seq:
            v = v + (self.fc(x) - v) / self.tau
            v2 = v * v
            s = heaviside(v + 0.1 * v2 - 0.5)
            v = v.masked_fill(s.bool(), 0.0)
            spikes.append(s)
        return torch.stack(spikes).mean(0)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([IzhikevichLike(4, 8), nn.Linear(8, 3)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


torch.manual_seed(0)
model = Classifier()
opt = torch.optim.Adamax(model.parameters())
for it in range(3):
    seq, y = torch.rand(5, 6, 4) * 3, torch.randint(0, 3, (6,))
    loss = nn.functional.nll_loss(torch.log_softmax(model(seq), -1), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
