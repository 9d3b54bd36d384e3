import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Adapter(nn.Module):
    def __init__(self, dim, bottleneck=2):
        super().__init__()
        self.down, self.up = nn.Linear(dim, bottleneck), nn.Linear(bottleneck, dim)

    def forward(self, x):
        return x + self.up(torch.relu(self.down(x)))


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.norm = nn.LayerNorm(dim)
        self.adapter = Adapter(dim)

    def forward(self, x):
        return self.adapter(self.norm(x + self.ff(x)))


class Encoder(nn.Module):
    def __init__(self, vocab=20, dim=8, depth=2, gradient_checkpointing=True):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList([Layer(dim) for _ in range(depth)])
        self.gradient_checkpointing = gradient_checkpointing

    def forward(self, ids):
        h = self.embeddings(ids)
        for layer in self.layers:
            if self.gradient_checkpointing and self.training:
                h = checkpoint(layer, h, use_reentrant=True)
            else:
                h = layer(h)
        return h.mean(dim=1)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.head = nn.Linear(8, 2)

    def freeze_base(self):
        for name, param in self.named_parameters():
            param.requires_grad = "adapter" in name


def main():
    model = Classifier()
    model.freeze_base()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    model.train()
    for _ in range(2):
        ids, y = torch.randint(0, 20, (4, 6)), torch.randint(0, 2, (4,))
        loss = nn.functional.cross_entropy(model.head(model.encoder(ids)), y)
        optimizer.zero_grad()
        loss.backward()  # error: [detached-loss] # raises: RuntimeError "not require grad"
        optimizer.step()


main()
