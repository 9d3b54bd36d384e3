"""A training step with two branches for the precision, of which one clears."""

import torch
import torch.nn as nn
from torch.cuda.amp import GradScaler


def train_step(model, batch, opt, scaler, lr_scheduler, args, ema, update_ema):
    x, y = batch
    with torch.autocast("cpu", enabled=args.bfloat16, dtype=torch.bfloat16):
        out = model(x)
        loss = nn.functional.mse_loss(out.float(), y)
    opt.zero_grad()
    if not args.bfloat16:
        loss.backward()
        opt.step()
    else:
        scaler.scale(loss).backward()
        if args.grad_clip_val > 0:
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.grad_clip_val)
        scaler.step(opt)
        scaler.update()
    update_ema(ema, model)
    return loss.item()


@torch.no_grad()
def update_ema(ema_model, model, decay=0.99):
    for e, p in zip(ema_model.parameters(), model.parameters()):
        e.mul_(decay).add_(p.data, alpha=1 - decay)


class Args:
    bfloat16 = True
    grad_clip_val = 10.0
    epochs = 2


def main(args):
    import copy
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1))
    ema = copy.deepcopy(model).requires_grad_(False)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = GradScaler(enabled=False)
    running_loss = 0.0
    for epoch in range(args.epochs):
        for _ in range(4):
            batch = torch.randn(8, 4), torch.randn(8, 1)
            running_loss += train_step(model, batch, opt, scaler, None, args, ema, update_ema)
        print(f"epoch {epoch} loss {running_loss:.3f}")
    return model


if __name__ == "__main__":
    net = main(Args())

# torch: net[0].weight.grad is not None
