import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from .prompt import PromptLearner


class TinyCLIP(nn.Module):
    def __init__(self, image_dim, width):
        super().__init__()
        self.visual = nn.Linear(image_dim, width)
        self.text = nn.GRU(width, width, batch_first=True)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))
        for module in (self.visual, self.text):
            module.requires_grad_(False)
        self.logit_scale.requires_grad_(False)
        self.prompt_learner = PromptLearner(width)

    def encode_image(self, images):
        return F.normalize(self.visual(images), dim=-1)

    def encode_classes(self, names):
        _, hidden = self.text(self.prompt_learner(names))
        return F.normalize(hidden[-1], dim=-1)
