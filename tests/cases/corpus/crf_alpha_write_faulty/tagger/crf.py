import torch
import torch.nn as nn


class LinearCRF(nn.Module):
    def __init__(self, tags):
        super().__init__()
        self.tags = tags
        self.trans = nn.Parameter(torch.randn(tags, tags) * 0.1)
        self.begin = nn.Parameter(torch.zeros(tags))

    def partition(self, emissions, lengths):
        batch, steps, tags = emissions.shape
        score = (self.begin + emissions[:, 0]).exp()
        for t in range(1, steps):
            nxt = (score.unsqueeze(2) * self.trans.exp()).sum(1) * emissions[:, t].exp()
            alive = t < lengths
            score[alive] = nxt[alive]  # error: [inplace-on-saved]
        return score.sum(1).log()

    def gold(self, emissions, tags, lengths):
        steps = emissions.size(1)
        index = torch.arange(emissions.size(0))
        total = self.begin[tags[:, 0]] + emissions[index, 0, tags[:, 0]]
        for t in range(1, steps):
            step = self.trans[tags[:, t - 1], tags[:, t]] + emissions[index, t, tags[:, t]]
            total = total + step * (t < lengths)
        return total

    def forward(self, emissions, tags, lengths):
        return (self.partition(emissions, lengths) - self.gold(emissions, tags, lengths)).mean()
