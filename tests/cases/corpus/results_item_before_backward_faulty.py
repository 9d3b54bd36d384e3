import argparse

import torch
from torch import nn


class TextCNN(nn.Module):
    def __init__(self, vocab=30, dim=8, kernels=(2, 3), classes=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.convs = nn.ModuleList([nn.Conv1d(dim, 4, k) for k in kernels])
        self.fc = nn.Linear(4 * len(kernels), classes)
        self.loss_fct = nn.CrossEntropyLoss()

    def forward(self, input_ids, labels=None):
        h = self.emb(input_ids).transpose(1, 2)
        pooled = torch.cat([conv(h).relu().amax(-1) for conv in self.convs], dim=1)
        logits = self.fc(pooled)
        result = {"logits": logits}
        if labels is not None:
            result["loss"] = self.loss_fct(logits, labels)
        return result


def train(args, model, batches, optimizer):
    losses = []
    for step, batch in enumerate(batches):
        outputs = model(**batch)
        metrics = {k: (v.item() if v.dim() == 0 else v) for k, v in outputs.items()}
        losses.append(metrics["loss"])
        loss = metrics["loss"] / args.accumulate
        loss.backward()  # error: [backward-on-number] # raises: AttributeError
        if (step + 1) % args.accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
        if step % args.log_every == 0:
            print(step, sum(losses) / len(losses))


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--accumulate", type=int, default=2)
    parser.add_argument("--log-every", dest="log_every", type=int, default=2)
    args = parser.parse_args([] if argv is None else argv)
    torch.manual_seed(0)
    model = TextCNN()
    batches = [{"input_ids": torch.randint(0, 30, (4, 7)), "labels": torch.randint(0, 2, (4,))} for _ in range(4)]
    train(args, model, batches, torch.optim.AdamW(model.parameters(), lr=1e-3))


if __name__ == "__main__":
    main()
