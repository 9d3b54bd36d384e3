import torch
from maddpg import MADDPG

torch.manual_seed(0)
N, OBS, ACT, B = 3, 4, 2, 8
algo = MADDPG(N, OBS, ACT)
for it in range(2):
    rand = lambda d: [torch.randn(B, d) for _ in range(N)]
    algo.update(rand(OBS), rand(ACT), rand(1), rand(OBS))
