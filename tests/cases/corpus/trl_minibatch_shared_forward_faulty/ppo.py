import random

import torch
from torch.optim import Adam

from core import clip_by_value, logprobs_from_logits, whiten


class PPOTrainer:
    default_params = {"lr": 1e-3, "ppo_epochs": 2, "batch_size": 4, "forward_batch_size": 2, "cliprange": .2, "vf_coef": .1, "gamma": 1, "lam": .95}

    def __init__(self, model, ref_model, **ppo_params):
        self.ppo_params = self.default_params
        self.ppo_params.update(ppo_params)
        self.model, self.ref_model = model, ref_model
        self.optimizer = Adam(model.parameters(), lr=self.ppo_params["lr"])

    def step(self, query, response, scores):
        bs = self.ppo_params["batch_size"]
        model_input = torch.cat((query, response), dim=1)
        logprobs, ref_logprobs, values = self.batched_forward_pass(model_input, response.shape[1])
        rewards = -0.2 * (logprobs - ref_logprobs).detach()
        rewards[:, -1] += scores
        idxs = list(range(bs))
        stats = []
        for _ in range(self.ppo_params["ppo_epochs"]):
            random.shuffle(idxs)
            for i in range(bs):
                idx = idxs[i]
                stats.append(self.train_minibatch(logprobs[idx : idx + 1], values[idx : idx + 1], rewards[idx : idx + 1], model_input[idx : idx + 1], response.shape[1]))
        return stats

    def batched_forward_pass(self, model_input, gen_len):
        fbs = self.ppo_params["forward_batch_size"]
        lps, refs, vals = [], [], []
        for i in range(self.ppo_params["batch_size"] // fbs):
            m = model_input[i * fbs : (i + 1) * fbs]
            logits, v = self.model(m)
            ref_logits, _ = self.ref_model(m)
            vals.append(v[:, -gen_len - 1 : -1])
            lps.append(logprobs_from_logits(logits[:, :-1, :], m[:, 1:])[:, -gen_len:])
            refs.append(logprobs_from_logits(ref_logits[:, :-1, :], m[:, 1:])[:, -gen_len:])
        return torch.cat(lps), torch.cat(refs), torch.cat(vals)

    def train_minibatch(self, logprobs, values, rewards, model_input, gen_len):
        loss_p, loss_v = self.loss(logprobs, values, rewards, model_input, gen_len)
        loss = loss_p + loss_v
        self.optimizer.zero_grad()
        loss.backward()  # error: [carried-graph]  # raises: RuntimeError "a second time"
        self.optimizer.step()
        return loss.item()

    def loss(self, old_logprobs, values, rewards, model_input, gen_len):
        lastgaelam, reversed_adv = 0, []
        for t in reversed(range(gen_len)):
            nextvalues = values[:, t + 1] if t < gen_len - 1 else 0.0
            delta = rewards[:, t] + self.ppo_params["gamma"] * nextvalues - values[:, t]
            lastgaelam = delta + self.ppo_params["gamma"] * self.ppo_params["lam"] * lastgaelam
            reversed_adv.append(lastgaelam)
        advantages = torch.stack(reversed_adv[::-1]).transpose(0, 1)
        returns = advantages + values
        advantages = whiten(advantages).detach()
        logits, vpred = self.model(model_input)
        logprob = logprobs_from_logits(logits[:, :-1, :], model_input[:, 1:])[:, -gen_len:]
        vpred = vpred[:, -gen_len - 1 : -1]
        clipped = clip_by_value(vpred, values - 0.2, values + 0.2)
        vf_loss = 0.5 * torch.mean(torch.max((vpred - returns) ** 2, (clipped - returns) ** 2))
        ratio = torch.exp(logprob - old_logprobs)
        pg = torch.max(-advantages * ratio, -advantages * torch.clamp(ratio, 0.8, 1.2))
        return pg.mean(), self.ppo_params["vf_coef"] * vf_loss
