"""R-Drop: two passes with different dropout masks must agree."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Tagger(nn.Module):
    def __init__(self, vocab=30, dim=12, tags=4, dropout=0.3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.encoder = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(2 * dim, tags)

    def forward(self, tokens):
        hidden, _ = self.encoder(self.embed(tokens))
        return self.out(self.dropout(hidden))


def kl_between(p_logits, q_logits):
    p = F.kl_div(F.log_softmax(p_logits, dim=-1), F.softmax(q_logits, dim=-1), reduction="batchmean")
    q = F.kl_div(F.log_softmax(q_logits, dim=-1), F.softmax(p_logits, dim=-1), reduction="batchmean")
    return (p + q) / 2


def train_epoch(model, data_loader, optimizer, scheduler, alpha, max_grad_norm):
    model.train()
    stats = {"ce": 0.0, "kl": 0.0}
    for step, (tokens, tags) in enumerate(data_loader):
        optimizer.zero_grad()
        logits1 = model(tokens)
        logits2 = model(tokens)
        ce = 0.5 * (
            F.cross_entropy(logits1.flatten(0, 1), tags.flatten())
            + F.cross_entropy(logits2.flatten(0, 1), tags.flatten())
        )
        kl = alpha * kl_between(logits1, logits2)
        ce.backward()
        kl.backward()  # error: [double-backward] # raises: RuntimeError "through the graph a second time"
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
        optimizer.step()
        scheduler.step()
        stats["ce"] += ce.item()
        stats["kl"] += kl.item()
    return {name: value / (step + 1) for name, value in stats.items()}


def main():
    torch.manual_seed(0)
    tokens = torch.randint(0, 30, (32, 7))
    loader = DataLoader(TensorDataset(tokens, tokens % 4), batch_size=8, shuffle=True)
    model = Tagger()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 4))
    for epoch in range(2):
        print(epoch, train_epoch(model, loader, optimizer, scheduler, alpha=0.5, max_grad_norm=1.0))


if __name__ == "__main__":
    main()
