import torch
import torch.nn.functional as F


def logprobs_from_logits(logits, labels):
    logp = F.log_softmax(logits, dim=2)
    return torch.gather(logp, 2, labels.unsqueeze(2)).squeeze(-1)


def whiten(values):
    return (values - values.mean()) * torch.rsqrt(values.var() + 1e-8)


def clip_by_value(x, low, high):
    return torch.max(torch.min(x, high), low)
