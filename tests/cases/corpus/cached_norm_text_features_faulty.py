"""Prompt tuning in the way of CoOp: learned context before fixed class names."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class TextEncoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Sequential(nn.Linear(dim, dim), nn.Tanh(), nn.Linear(dim, dim))

    def forward(self, prompts):
        return self.proj(prompts).mean(1)


class CustomCLIP(nn.Module):
    def __init__(self, classes, dim=8, n_ctx=3):
        super().__init__()
        self.ctx = nn.Parameter(torch.randn(n_ctx, dim) * 0.02)
        self.register_buffer("names", torch.randn(classes, 2, dim))
        self.text_encoder = TextEncoder(dim)
        self.image_encoder = nn.Linear(10, dim)
        self.logit_scale = nn.Parameter(torch.tensor(2.0))
        self._text = None
        for p in self.text_encoder.parameters():
            p.requires_grad_(False)
        for p in self.image_encoder.parameters():
            p.requires_grad_(False)

    def text_features(self):
        if self._text is None:
            ctx = self.ctx.unsqueeze(0).expand(len(self.names), -1, -1)
            prompts = torch.cat([ctx, self.names], dim=1)
            self._text = F.normalize(self.text_encoder(prompts), dim=-1)
        return self._text

    def forward(self, image):
        img = F.normalize(self.image_encoder(image), dim=-1)
        return self.logit_scale.exp() * img @ self.text_features().t()


class PromptTrainer:
    def __init__(self, model, lr):
        self.model = model
        params = [p for p in model.parameters() if p.requires_grad]
        self.optim = torch.optim.SGD(params, lr=lr)

    def forward_backward(self, batch):
        image, label = batch["img"], batch["label"]
        output = self.model(image)
        loss = F.cross_entropy(output, label)
        self.model_backward_and_update(loss)
        return {"loss": loss.item(), "acc": (output.argmax(1) == label).float().mean().item()}

    def model_backward_and_update(self, loss):
        self.optim.zero_grad()
        loss.backward()  # error: [carried-graph] # raises: RuntimeError
        self.optim.step()

    def run_epoch(self, loader):
        self.model.train()
        for batch in loader:
            summary = self.forward_backward(batch)
        return summary


torch.manual_seed(0)
loader = [{"img": torch.randn(6, 10), "label": torch.randint(0, 4, (6,))} for _ in range(3)]
trainer = PromptTrainer(CustomCLIP(4), lr=0.1)
for epoch in range(2):
    print(trainer.run_epoch(loader))
