import re

import torch
from torch import nn


class LoRALinear(nn.Module):
    def __init__(self, base, r=2, alpha=4):
        super().__init__()
        self.base = base
        self.lora_A = nn.Parameter(torch.randn(r, base.in_features) * 0.01)
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        self.scaling = alpha / r

    def forward(self, x):
        return self.base(x) + (x @ self.lora_A.t() @ self.lora_B.t()) * self.scaling


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q_proj, self.v_proj, self.k_proj, self.o_proj = (nn.Linear(d, d) for _ in range(4))

    def forward(self, x):
        w = torch.softmax(self.q_proj(x) @ self.k_proj(x).transpose(-2, -1), -1)
        return self.o_proj(w @ self.v_proj(x))


class LM(nn.Module):
    def __init__(self, vocab=12, d=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.attn = Attention(d)
        self.lm_head = nn.Linear(d, vocab)

    def forward(self, ids):
        return self.lm_head(self.attn(self.embed(ids)))


def inject(model, names=("q_proj", "v_proj")):
    for name in names:
        setattr(model.attn, name, LoRALinear(getattr(model.attn, name)))


def mark_only_lora_as_trainable(model):
    for n, p in model.named_parameters():
        if "lora_" not in n.split(".")[0]:
            p.requires_grad = False


def main():
    model = LM()
    inject(model)
    mark_only_lora_as_trainable(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(2):
        ids = torch.randint(0, 12, (2, 5))
        logits = model(ids[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()  # error: [detached-loss] # raises: RuntimeError "not require grad"
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
