import torch
import torch.nn.functional as F


def info_nce(q, k, negatives, tau=0.2):
    pos = (q * k).sum(1, keepdim=True)
    neg = q @ negatives.t()
    logits = torch.cat([pos, neg], dim=1) / tau
    return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))
