import torch
from torch import nn


class Seq2Seq(nn.Module):
    def __init__(self, vocab=15, hidden=10):
        super().__init__()
        self.src, self.tgt = nn.Embedding(vocab, hidden), nn.Embedding(vocab, hidden)
        self.enc, self.dec = nn.GRU(hidden, hidden), nn.GRU(hidden, hidden)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, src, tgt):
        _, h = self.enc(self.src(src))
        y, _ = self.dec(self.tgt(tgt[:-1]), h)
        return self.out(y)


def train_pair(model, src, tgt, optimizer, criterion, clip):
    optimizer.zero_grad()
    logits = model(src, tgt)
    loss = criterion(logits.flatten(0, 1), tgt[1:].flatten())
    loss.backward(retain_graph=True)  # warning: [needless-retain-graph]
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return loss.item() / tgt.size(0)


def train_iters(n, print_every=2):
    model = Seq2Seq()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion = nn.CrossEntropyLoss(ignore_index=0)
    print_loss_total = 0
    for it in range(1, n + 1):
        src, tgt = torch.randint(1, 15, (5, 3)), torch.randint(1, 15, (6, 3))
        print_loss_total += train_pair(model, src, tgt, optimizer, criterion, 1.0)
        if it % print_every == 0:
            print("%d %.4f" % (it, print_loss_total / print_every))
            print_loss_total = 0
    return model


torch.manual_seed(0)
model = train_iters(4)
# torch: model.out.weight.grad is not None
