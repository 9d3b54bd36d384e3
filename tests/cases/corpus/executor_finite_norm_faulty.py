"""An executor that is handed everything and steps where the norm is finite."""

import logging

import torch
from torch.nn.utils import clip_grad_norm_


class Executor:
    def __init__(self):
        self.step = 0

    def train(self, model, optimizer, data_loader, device, writer, args):
        model.train()
        clip = args.get("grad_clip", 50.0)
        log_interval = args.get("log_interval", 10)
        epoch = args.get("epoch", 0)
        num_total_batch = 0
        total_loss = 0.0
        for batch_idx, batch in enumerate(data_loader):
            key, feats, target, feats_lengths = batch
            feats = feats.to(device)
            target = target.to(device)
            num_utts = feats_lengths.size(0)
            if num_utts == 0:
                continue
            logits = model(feats)
            loss = torch.nn.functional.cross_entropy(logits, target)
            loss.backward()  # warning: [missing-zero-grad]
            grad_norm = clip_grad_norm_(model.parameters(), clip)
            if torch.isfinite(grad_norm):
                optimizer.step()
            if batch_idx % log_interval == 0:
                logging.debug("TRAIN Batch {}/{} loss {:.8f}".format(epoch, batch_idx, loss.item()))
            num_total_batch += 1
            total_loss += loss.item()
        return total_loss / num_total_batch

    def cv(self, model, data_loader, device, args):
        model.eval()
        with torch.no_grad():
            return sum(torch.nn.functional.cross_entropy(model(f.to(device)), t).item() for _, f, t, _ in data_loader)


if __name__ == "__main__":
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    batch = (["a", "b"], torch.randn(2, 5), torch.tensor([0, 2]), torch.tensor([5, 5]))
    Executor().train(model, optimizer, [batch], torch.device("cpu"), None, {})
    once = model[0].weight.grad.clone()
    model.zero_grad()
    Executor().train(model, optimizer, [batch, batch, batch], torch.device("cpu"), None, {})

# torch: torch.allclose(model[0].weight.grad, 3 * once)
