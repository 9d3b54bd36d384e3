import torch.nn.functional as F

from tools.timing import profiled


@profiled
def ranking_loss(scores, relevance, margin=0.5):
    better = relevance.unsqueeze(2) > relevance.unsqueeze(1)
    difference = scores.unsqueeze(2) - scores.unsqueeze(1)
    return (F.relu(margin - difference) * better).sum() / better.sum().clamp(min=1)
