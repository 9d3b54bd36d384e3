import random

import torch
import torch.nn as nn
import torch.nn.functional as F


class Decoder(nn.Module):
    def __init__(self, vocab, hid):
        super().__init__()
        self.emb = nn.Embedding(vocab, hid)
        self.cell = nn.GRUCell(hid, hid)
        self.out = nn.Linear(hid, vocab)

    def forward(self, tok, h):
        h = self.cell(self.emb(tok), h)
        return self.out(h), h


class Seq2Seq(nn.Module):
    def __init__(self, vocab=11, hid=8):
        super().__init__()
        self.enc_emb = nn.Embedding(vocab, hid)
        self.encoder = nn.GRU(hid, hid, batch_first=True)
        self.decoder = Decoder(vocab, hid)
        self.vocab = vocab

    def forward(self, src, trg, teacher_forcing_ratio=0.5):
        batch, trg_len = trg.shape
        outputs = torch.zeros(trg_len, batch, self.vocab)
        _, h = self.encoder(self.enc_emb(src))
        h = h.squeeze(0)
        tok = trg[:, 0]
        for t in range(1, trg_len):
            logits, h = self.decoder(tok, h)
            outputs[t] = logits
            teacher_force = random.random() < teacher_forcing_ratio
            top1 = logits.argmax(1)
            tok = trg[:, t] if teacher_force else top1
        return outputs


model = Seq2Seq()
optimizer = torch.optim.Adam(model.parameters())
criterion = nn.CrossEntropyLoss(ignore_index=0)


def train(model, iterator, optimizer, criterion, clip):
    model.train()
    epoch_loss = 0
    for i, (src, trg) in enumerate(iterator):
        optimizer.zero_grad()
        output = model(src, trg)
        output_dim = output.shape[-1]
        output = output[1:].view(-1, output_dim)
        trg = trg.t()[1:].reshape(-1)
        loss = criterion(output, trg)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        epoch_loss += loss.item()
    return epoch_loss / len(iterator)


iterator = [(torch.randint(1, 11, (3, 5)), torch.randint(1, 11, (3, 4))) for _ in range(2)]
for epoch in range(2):
    train(model, iterator, optimizer, criterion, 1)
