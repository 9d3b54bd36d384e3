import torch
from torch import nn


class Accelerator:
    """A stand-in with the calls that the script makes."""

    def __init__(self, gradient_accumulation_steps=1):
        self.steps = gradient_accumulation_steps

    def prepare(self, *objs):
        return objs

    def backward(self, loss, **kwargs):
        (loss / self.steps).backward(**kwargs)

    def unwrap_model(self, model):
        return model


accelerator = Accelerator()
unet = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.SiLU(), nn.Conv2d(4, 3, 3, padding=1))
text_encoder = nn.Embedding(10, 3)
optimizer = torch.optim.AdamW([*unet.parameters(), *text_encoder.parameters()])
unet, text_encoder, optimizer = accelerator.prepare(unet, text_encoder, optimizer)
for step in range(2):
    pixels, ids = torch.randn(2, 3, 8, 8), torch.randint(0, 10, (2,))
    cond = torch.sigmoid(text_encoder(ids))[:, :, None, None]
    model_pred = unet(pixels + cond)
    loss = nn.functional.mse_loss(model_pred, pixels)
    prior_loss = nn.functional.mse_loss(model_pred * cond, pixels)
    accelerator.backward(loss + prior_loss)
    optimizer.step()
    optimizer.zero_grad()
