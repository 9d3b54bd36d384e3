import torch
from torch import nn
from collections import OrderedDict


class TextEncoder(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.layers = nn.Sequential(OrderedDict([("fc", nn.Linear(dim, dim)), ("act", nn.GELU()), ("out", nn.Linear(dim, dim))]))

    def forward(self, prompts):
        return nn.functional.normalize(self.layers(prompts).mean(1), dim=-1)


class CustomCLIP(nn.Module):
    def __init__(self, classes=3, ctx=4, dim=6):
        super().__init__()
        self.ctx = nn.Parameter(torch.randn(ctx, dim) * 0.02)
        self.register_buffer("names", torch.randn(classes, 1, dim))
        self.text_encoder, self.image_encoder = TextEncoder(dim), nn.Linear(5, dim)
        self.logit_scale = nn.Parameter(torch.tensor(2.0))
        self.text_features = None

    def encode_text(self):
        ctx = self.ctx.unsqueeze(0).expand(len(self.names), -1, -1)
        self.text_features = self.text_encoder(torch.cat([ctx, self.names], dim=1))

    def forward(self, image):
        image_features = nn.functional.normalize(self.image_encoder(image), dim=-1)
        return self.logit_scale.exp() * image_features @ self.text_features.t()


class CoOp:
    def __init__(self, epochs=2):
        self.model, self.epochs = CustomCLIP(), epochs
        for name, param in self.model.named_parameters():
            if "ctx" not in name:
                param.requires_grad_(False)
        self.optim = torch.optim.SGD([self.model.ctx], lr=0.002)

    def model_backward_and_update(self, loss):
        self.optim.zero_grad()
        loss.backward()
        self.optim.step()

    def run_epoch(self, batches):
        for image, label in batches:
            self.model.encode_text()
            loss = nn.functional.cross_entropy(self.model(image), label)
            self.model_backward_and_update(loss)

    def train(self, batches):
        for self.epoch in range(self.epochs):
            self.run_epoch(batches)


CoOp().train([(torch.rand(4, 5), torch.randint(0, 3, (4,))) for _ in range(2)])
