from __future__ import annotations

import argparse
from collections import defaultdict

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Stage(nn.Module):
    def __init__(self, hidden: int):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8 + 1, hidden), nn.SiLU(), nn.Linear(hidden, 8))

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        return self.net(torch.cat([x, t[:, None]], dim=1))


class Transport:
    def training_losses(self, model, x1):
        t = torch.rand(x1.shape[0])
        x0 = torch.randn_like(x1)
        xt = t[:, None] * x1 + (1 - t[:, None]) * x0
        return {"loss": ((model(xt, t) - (x1 - x0)) ** 2).mean(dim=1)}


@torch.no_grad()
def update_ema(ema_model, model, decay=0.999):
    for (name, p), e in zip(model.named_parameters(), ema_model.parameters()):
        e.mul_(decay).add_(p.data, alpha=1 - decay)


def main(argv: list[str] | None = None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--grad-accum-steps", type=int, default=4)
    parser.add_argument("--clip-grad", type=float, default=1.0)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args(argv)
    model, ema = Stage(16), Stage(16)
    ema.load_state_dict(model.state_dict())
    ema.requires_grad_(False)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-4)
    loader = DataLoader(TensorDataset(torch.randn(64, 8)), batch_size=4, drop_last=True)
    transport = Transport()
    running, log_steps, train_steps = 0.0, 0, 0
    metrics = defaultdict(list)
    for epoch in range(args.epochs):
        model.train()
        accum_counter = 0
        opt.zero_grad(set_to_none=True)
        step_loss_accum = 0.0
        for (x,) in loader:
            terms = transport.training_losses(model, x)
            loss = terms["loss"].mean()
            step_loss_accum += loss.item()
            (loss / args.grad_accum_steps).backward()
            accum_counter += 1
            if accum_counter < args.grad_accum_steps:
                continue
            if args.clip_grad:
                torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip_grad)
            opt.step()
            update_ema(ema, model)
            opt.zero_grad(set_to_none=True)
            running += step_loss_accum / args.grad_accum_steps
            metrics["loss"].append(step_loss_accum)
            accum_counter, step_loss_accum = 0, 0.0
            log_steps += 1
            train_steps += 1
        print(epoch, running / max(log_steps, 1))
    return train_steps


steps = main([])
