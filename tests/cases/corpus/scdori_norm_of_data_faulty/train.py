from dataclasses import dataclass

import torch

from scdori.loops import train_phase
from scdori.models import ScDoRI


@dataclass
class Config:
    lr: float = 1e-3
    epochs: int = 2
    patience: int = 3
    l1_penalty: float = 0.5
    l2_penalty: float = 0.1
    weight_rna: float = 1.0


torch.manual_seed(200)
loader = [(torch.randint(5, (6, 7)).float(), torch.randint(2, (6, 9)).float() + 0.1) for _ in range(3)]
norm = train_phase(ScDoRI(7, 9, 4), loader, Config())
# torch: not norm.requires_grad
