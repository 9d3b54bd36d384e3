import numpy as np
import torch


class SequenceBuffer:
    def __init__(self, size, length, obs_dim, act_dim):
        self.obs = np.zeros((size, length + 1, obs_dim), dtype=np.float32)
        self.act = np.zeros((size, length, act_dim), dtype=np.float32)
        self.rew = np.zeros((size, length, 1), dtype=np.float32)
        self.ptr, self.full, self.size = 0, False, size

    def store(self, obs, act, rew):
        self.obs[self.ptr], self.act[self.ptr], self.rew[self.ptr] = obs, act, rew
        self.ptr = (self.ptr + 1) % self.size
        self.full = self.full or self.ptr == 0

    def sample(self, n):
        idx = np.random.randint(0, self.size if self.full else self.ptr, size=n)
        return tuple(torch.as_tensor(each[idx]) for each in (self.obs, self.act, self.rew))
