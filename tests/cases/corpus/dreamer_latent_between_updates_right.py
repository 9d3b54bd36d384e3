from dataclasses import dataclass, replace

import torch
from torch import nn
from torch.distributions import Normal


@dataclass(frozen=True)
class RSSMState:
    stoch: torch.Tensor
    deter: torch.Tensor

    def features(self):
        return torch.cat([self.stoch, self.deter], -1)

    def detach(self):
        return replace(self, stoch=self.stoch.detach(), deter=self.deter.detach())


class RSSM(nn.Module):
    def __init__(self, action=2, embed=4, stoch=3, deter=6):
        super().__init__()
        self.gru = nn.GRUCell(stoch + action, deter)
        self.post = nn.Linear(deter + embed, 2 * stoch)
        self.sizes = stoch, deter

    def initial(self, n):
        return RSSMState(torch.zeros(n, self.sizes[0]), torch.zeros(n, self.sizes[1]))

    def observe(self, embed, action, state):
        deter = self.gru(torch.cat([state.stoch, action], -1), state.deter)
        mean, std = self.post(torch.cat([deter, embed], -1)).chunk(2, -1)
        return RSSMState(Normal(mean, nn.functional.softplus(std) + 0.1).rsample(), deter)


class WorldModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.rssm = nn.Linear(5, 4), RSSM()
        self.decoder = nn.Linear(9, 5)

    def loss(self, obs, actions, state):
        errors = []
        for o, a in zip(obs, actions):
            state = self.rssm.observe(self.encoder(o), a, state)
            errors.append((self.decoder(state.features()) - o).pow(2).mean())
        return torch.stack(errors).mean(), state


def learn(model, updates=3):
    optimizer = torch.optim.Adam(model.parameters(), lr=6e-4, eps=1e-7)
    state = model.rssm.initial(2)
    for update in range(updates):
        obs, actions = torch.rand(4, 2, 5), torch.rand(4, 2, 2)
        loss, state = model.loss(obs, actions, state.detach())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 100.0)
        optimizer.step()
        yield loss.item()


print(list(learn(WorldModel())))
