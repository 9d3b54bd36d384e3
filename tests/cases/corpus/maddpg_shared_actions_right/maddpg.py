import torch
import torch.nn.functional as F

from agent import Agent


class MADDPG:
    def __init__(self, n, obs, act, gamma=0.95, tau=0.01):
        self.agents = [Agent(i, n, obs, act) for i in range(n)]
        self.gamma, self.tau = gamma, tau

    def update(self, obs, acts, rews, nxt):
        with torch.no_grad():
            next_acts = [a.target_actor(o) for a, o in zip(self.agents, nxt)]
        joint = torch.cat([*obs, *acts], dim=1)
        joint_next = torch.cat([*nxt, *next_acts], dim=1)
        for i, agent in enumerate(self.agents):
            with torch.no_grad():
                target = rews[i] + self.gamma * agent.target_critic(joint_next)
            critic_loss = F.mse_loss(agent.critic(joint), target)
            agent.critic_opt.zero_grad()
            critic_loss.backward()
            agent.critic_opt.step()

            new_acts = [a.actor(o) if a is agent else a.actor(o).detach() for a, o in zip(self.agents, obs)]
            actor_loss = -agent.critic(torch.cat([*obs, *new_acts], dim=1)).mean()
            agent.actor_opt.zero_grad()
            actor_loss.backward()
            agent.actor_opt.step()
        self.soft_update()

    def soft_update(self):
        for a in self.agents:
            for net, tgt in ((a.actor, a.target_actor), (a.critic, a.target_critic)):
                for p, q in zip(net.parameters(), tgt.parameters()):
                    q.data.lerp_(p.data, self.tau)
