import torch

from engine import Engine
from model import WorldModel

cfg = {"obs": 4, "act": 2, "latent": 6, "lr": 1e-3, "clip": 1.0}
model = WorldModel(cfg)
loader = [(torch.randn(3, 5, 4), torch.randn(3, 4, 2), torch.randn(3, 4)) for _ in range(3)]
engine = Engine(2)
engine.fit(model, loader)
