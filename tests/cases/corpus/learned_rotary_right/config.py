from dataclasses import dataclass


@dataclass
class Config:
    vocab_size: int = 20
    block_size: int = 8
    n_head: int = 2
    n_embd: int = 16
    batch_size: int = 4
    iterations: int = 4
    lr: float = 3e-3
    weight_decay: float = 0.1
    grad_clip: float = 1.0
    log_every: int = 2
    seed: int = 1337
