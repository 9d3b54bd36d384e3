import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_


class Seq2Seq(nn.Module):
    def __init__(self, vocab=12, dim=6):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.enc, self.dec = nn.GRU(dim, dim, batch_first=True), nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, src, trg):
        _, h = self.enc(self.emb(src))
        o, _ = self.dec(self.emb(trg[:, :-1]), h)
        return self.out(o)


def train(e, model, optimizer, train_iter, vocab_size, grad_clip):
    model.train()
    total_loss = 0
    for b, (src, trg) in enumerate(train_iter):
        optimizer.zero_grad()
        output = model(src, trg)
        loss = nn.functional.nll_loss(output.log_softmax(-1).reshape(-1, vocab_size), trg[:, 1:].reshape(-1))
        clip_grad_norm_(model.parameters(), grad_clip)  # warning: [clip-without-gradient]
        loss.backward()
        optimizer.step()
        total_loss += loss.item()
        if b % 2 == 0 and b != 0:
            print("[%d][loss:%5.2f]" % (b, total_loss / 2))
            total_loss = 0


model = Seq2Seq()
opt = torch.optim.Adam(model.parameters(), lr=0.1)
data = [(torch.randint(0, 12, (3, 4)), torch.randint(0, 12, (3, 5))) for _ in range(3)]
for e in range(2):
    train(e, model, opt, data, 12, 1e-4)
total = torch.sqrt(sum(p.grad.pow(2).sum() for p in model.parameters()))
# torch: total > 2e-4
