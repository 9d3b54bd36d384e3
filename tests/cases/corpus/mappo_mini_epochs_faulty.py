import torch
from torch import nn
from torch.distributions import Categorical


class Args:
    mini_epochs = 3
    eps_clip = 0.2
    gamma = 0.99
    gae_lambda = 0.95
    n_agents = 2


class PPOLearner:
    def __init__(self, args):
        self.args = args
        self.agent = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 3))
        self.critic = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
        self.params = list(self.agent.parameters()) + list(self.critic.parameters())
        self.optimiser = torch.optim.Adam(params=self.params, lr=5e-4, eps=1e-5)
        self.last_lr = 5e-4

    def train(self, batch, t_env):
        rewards, actions = batch["reward"], batch["actions"]
        with torch.no_grad():
            old_log_pac = Categorical(logits=self.agent(batch["obs"])).log_prob(actions)
        old_values = self.critic(batch["obs"]).squeeze(-1)
        advantages, td_lambda_target = self._compute_returns_advs(old_values, rewards)
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-6)

        for _ in range(self.args.mini_epochs):
            dist = Categorical(logits=self.agent(batch["obs"]))
            log_pac = dist.log_prob(actions)
            values = self.critic(batch["obs"]).squeeze(-1)
            ratios = torch.exp(log_pac - old_log_pac)
            surr1 = ratios * advantages
            surr2 = torch.clamp(ratios, 1 - self.args.eps_clip, 1 + self.args.eps_clip) * advantages
            actor_loss = -torch.min(surr1, surr2).mean()
            critic_loss = ((values - td_lambda_target.detach()) ** 2).mean()
            loss = actor_loss + 0.5 * critic_loss - 0.01 * dist.entropy().mean()
            self.optimiser.zero_grad()
            loss.backward()  # error: [carried-graph] # raises: RuntimeError "second time"
            grad_norm = torch.nn.utils.clip_grad_norm_(self.params, 10)
            self.optimiser.step()
        return {"loss": loss.item(), "grad_norm": grad_norm.item()}

    def _compute_returns_advs(self, values, rewards):
        returns = torch.zeros_like(rewards)
        advs = torch.zeros_like(rewards)
        last = 0
        next_value = torch.zeros(rewards.size(0))
        for t in reversed(range(rewards.size(1))):
            delta = rewards[:, t] + self.args.gamma * next_value - values[:, t]
            last = delta + self.args.gamma * self.args.gae_lambda * last
            advs[:, t] = last
            returns[:, t] = last + values[:, t]
            next_value = values[:, t]
        return advs, returns


class EpisodeRunner:
    def run(self, n=4, t=3):
        return {"obs": torch.rand(n, t, 5), "actions": torch.randint(0, 3, (n, t)), "reward": torch.rand(n, t)}


learner, runner = PPOLearner(Args()), EpisodeRunner()
for t_env in range(2):
    print(learner.train(runner.run(), t_env))
