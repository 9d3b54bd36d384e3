import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.ff = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        return x + self.ff(x)


class GPT(nn.Module):
    def __init__(self, vocab=20, d=8, n=2, use_checkpoint=True):
        super().__init__()
        self.wte = nn.Embedding(vocab, d)
        self.blocks = nn.ModuleList(Block(d) for _ in range(n))
        self.lm_head = nn.Linear(d, vocab, bias=False)
        self.use_checkpoint = use_checkpoint

    def forward(self, idx):
        x = self.wte(idx)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=True) if self.use_checkpoint else block(x)
        return self.lm_head(x)


model = GPT()
model.wte.requires_grad_(False)
model.lm_head.requires_grad_(False)
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
for _ in range(2):
    idx = torch.randint(0, 20, (2, 6))
    logits = model(idx[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), idx[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()  # error: [detached-loss] # raises: RuntimeError "does not require grad"
    opt.step()
