import random

import gymnasium_stub as gym
import torch

from networks import Policy, Value

torch.manual_seed(0)
random.seed(0)
env = gym.make("CartPole-v1")
policy, q, v = Policy(), Value(5), Value(4)
gamma = 0.99
for episode in range(2):
    state, _ = env.reset()
    state = torch.tensor(state)
    done = False
    surrogates = []
    while not done:
        probs = policy(state)
        action = torch.multinomial(probs, 1)
        nxt, reward, terminated, truncated, _ = env.step(action.item())
        nxt = torch.tensor(nxt)
        q_sa = q(torch.cat([state, action.float()]))
        v_s = v(state)
        target = reward + gamma * v(nxt).detach()
        advantage = q_sa - v_s
        surrogates.append(policy.clipped(probs[action], probs[action].detach(), advantage))
        q.sgd(target, q_sa)
        v.sgd(target, v_s)
        state = nxt
        done = terminated or truncated
    policy.sga(surrogates)
