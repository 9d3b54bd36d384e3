"""LoRA fine-tuning of a frozen language model with activation checkpointing."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class LoRALinear(nn.Module):
    def __init__(self, base, rank=2, alpha=4.0):
        super().__init__()
        self.base = base
        self.scaling = alpha / rank
        self.lora_A = nn.Parameter(torch.empty(rank, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))

    def forward(self, x):
        return self.base(x) + (x @ self.lora_A.t() @ self.lora_B.t()) * self.scaling


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 2 * dim)
        self.down = nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class LanguageModel(nn.Module):
    def __init__(self, vocab=20, dim=12, depth=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.lm_head = nn.Linear(dim, vocab)
        self.gradient_checkpointing = False

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            if self.gradient_checkpointing and self.training:
                x = checkpoint(block, x, use_reentrant=True)
            else:
                x = block(x)
        return self.lm_head(x)


def add_adapters(model, rank):
    for parameter in model.parameters():
        parameter.requires_grad = False
    for block in model.blocks:
        block.up = LoRALinear(block.up, rank)
        block.down = LoRALinear(block.down, rank)
    return model


def finetune(model, optimizer, steps, vocab=20):
    model.train()
    for step in range(steps):
        tokens = torch.randint(0, vocab, (4, 9))
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, vocab), tokens[:, 1:].reshape(-1))
        loss.backward()  # error: [detached-loss] # raises: RuntimeError "does not require grad"
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step}: {loss.item():.4f}")


def main():
    torch.manual_seed(0)
    model = add_adapters(LanguageModel(), rank=2)
    model.gradient_checkpointing = True
    trainable = [p for p in model.parameters() if p.requires_grad]
    print("trainable:", sum(p.numel() for p in trainable))
    finetune(model, torch.optim.AdamW(trainable, lr=1e-3), steps=3)


if __name__ == "__main__":
    main()
