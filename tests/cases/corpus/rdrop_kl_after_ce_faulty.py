import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class TextClassifier(nn.Module):
    def __init__(self, vocab, dim, classes, p):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, dim)
        self.drop = nn.Dropout(p)
        self.fc = nn.Linear(dim, classes)

    def forward(self, ids, labels=None):
        logits = self.fc(self.drop(self.emb(ids)))
        loss = F.cross_entropy(logits, labels) if labels is not None else None
        return loss, logits


def compute_kl_loss(p, q, pad_mask=None):
    p_loss = F.kl_div(F.log_softmax(p, dim=-1), F.softmax(q, dim=-1), reduction="none")
    q_loss = F.kl_div(F.log_softmax(q, dim=-1), F.softmax(p, dim=-1), reduction="none")
    if pad_mask is not None:
        p_loss.masked_fill_(pad_mask, 0.0)
        q_loss.masked_fill_(pad_mask, 0.0)
    return (p_loss.sum() + q_loss.sum()) / 2


class Trainer:
    def __init__(self, args):
        self.args = args
        self.model = TextClassifier(30, args.dim, 3, args.dropout)
        self.optim = torch.optim.AdamW(self.model.parameters(), lr=args.lr)

    def step(self, ids, labels):
        ce1, logits1 = self.model(ids, labels)
        ce2, logits2 = self.model(ids, labels)
        ce_loss = 0.5 * (ce1 + ce2)
        ce_loss.backward()
        kl_loss = self.args.alpha * compute_kl_loss(logits1, logits2)
        kl_loss.backward()  # error: [double-backward] # raises: RuntimeError "second time"
        self.optim.step()
        self.optim.zero_grad()
        return ce_loss.item(), kl_loss.item()

    def train(self, batches):
        self.model.train()
        for i, (ids, labels) in enumerate(batches):
            ce, kl = self.step(ids, labels)
            print(f"{i}: ce {ce:.3f} kl {kl:.3f}")


def get_args(argv=None):
    parser = argparse.ArgumentParser(description="R-Drop")
    parser.add_argument("--dim", type=int, default=8)
    parser.add_argument("--alpha", type=float, default=4.0)
    parser.add_argument("--dropout", type=float, default=0.3)
    parser.add_argument("--lr", default=1e-3, type=float)
    return parser.parse_args(argv)


if __name__ == "__main__":
    Trainer(get_args([])).train([(torch.randint(0, 30, (4, 5)), torch.randint(0, 3, (4,))) for _ in range(2)])
