# known gap: that all batches have the same length is not settled, so the report is a warning
import torch
import torch.nn as nn
from config import Config
from data import token_batches
from models.gpt import GPT


def configure_optimizer(model, weight_decay, lr):
    decay = [p for p in model.parameters() if p.dim() >= 2]
    no_decay = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": decay, "weight_decay": weight_decay}, {"params": no_decay, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr)


def train(config):
    torch.manual_seed(config.seed)
    model = GPT(config)
    optimizer = configure_optimizer(model, config.weight_decay, config.lr)
    model.train()
    for iteration, (x, y) in enumerate(token_batches(config)):
        logits = model(x)
        loss = nn.functional.cross_entropy(logits.view(-1, logits.size(-1)), y.reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
        torch.nn.utils.clip_grad_norm_(model.parameters(), config.grad_clip)
        optimizer.step()
        if iteration % config.log_every == 0:
            print(f"iter {iteration}: loss {loss.item():.4f}")


if __name__ == "__main__":
    train(Config())
