import torch
import torch.nn.functional as F
from torch import nn


class Matcher(nn.Module):
    """Sinkhorn-like matching of two point sets with an outlier bin."""

    def __init__(self, dim=6, iterations=2):
        super().__init__()
        self.proj = nn.Linear(3, dim)
        self.iterations = iterations
        self.bin_score = nn.Parameter(torch.tensor(1.0))

    def scores(self, a, b, mask):
        s = torch.einsum("bnd,bmd->bnm", self.proj(a), self.proj(b)) / 6**0.5
        p = F.softmax(s, dim=-1)
        p[mask.unsqueeze(1).expand_as(p)] = 0.0  # error: [inplace-on-saved]
        return p

    def forward(self, a, b, mask):
        p = self.scores(a, b, mask)
        for _ in range(self.iterations):
            p = p / (p.sum(dim=1, keepdim=True) + self.bin_score.exp())
            p = p / (p.sum(dim=2, keepdim=True) + self.bin_score.exp())
        return p


def nll(p, match):
    picked = p.gather(2, match.unsqueeze(-1)).squeeze(-1)
    return -(picked + 1e-6).log().mean()


def make_batch(b=2, n=5):
    a = torch.rand(b, n, 3)
    perm = torch.stack([torch.randperm(n) for _ in range(b)])
    bb = torch.stack([x[p] for x, p in zip(a, perm)])
    mask = torch.zeros(b, n, dtype=torch.bool)
    mask[:, -1] = True
    return a, bb, mask, perm.argsort(1)


def main(steps=2):
    torch.manual_seed(0)
    net = Matcher()
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    sched = torch.optim.lr_scheduler.StepLR(opt, 10)
    for step in range(steps):
        a, b, mask, match = make_batch()
        loss = nll(net(a, b, mask), match)
        opt.zero_grad()
        loss.backward()  # raises: RuntimeError "modified by an inplace"
        opt.step()
        sched.step()
        print(step, loss.item())


if __name__ == "__main__":
    main()
