"""Translation whose training step returns its loss for a total."""

import random
import time

import torch
import torch.nn as nn


def train_pair(input_tensor, target_tensor, encoder, decoder, encoder_optimizer, decoder_optimizer, criterion, tf=0.5):
    encoder_hidden = encoder.initHidden()
    encoder_optimizer.zero_grad()
    decoder_optimizer.zero_grad()
    loss = 0
    for ei in range(input_tensor.size(0)):
        _, encoder_hidden = encoder(input_tensor[ei], encoder_hidden)
    decoder_input = torch.tensor([[0]])
    decoder_hidden = encoder_hidden
    for di in range(target_tensor.size(0)):
        out, decoder_hidden = decoder(decoder_input, decoder_hidden)
        loss += criterion(out, target_tensor[di])
        decoder_input = target_tensor[di] if random.random() < tf else out.topk(1)[1].squeeze().detach()
    loss.backward()
    encoder_optimizer.step()
    decoder_optimizer.step()
    return loss / target_tensor.size(0)


def trainIters(encoder, decoder, pairs, n_iters, print_every=2, learning_rate=0.01):
    start = time.time()
    print_loss_total = 0
    encoder_optimizer = torch.optim.SGD(encoder.parameters(), lr=learning_rate)
    decoder_optimizer = torch.optim.SGD(decoder.parameters(), lr=learning_rate)
    criterion = nn.NLLLoss()
    for iter in range(1, n_iters + 1):
        x, y = random.choice(pairs)
        loss = train_pair(x, y, encoder, decoder, encoder_optimizer, decoder_optimizer, criterion)
        print_loss_total += loss  # warning: [live-accumulator]
        if iter % 1000 == 0:
            print("%s (%d)" % (time.time() - start, iter))
    return print_loss_total


class Enc(nn.Module):
    def __init__(self, n, h):
        super().__init__()
        self.h, self.emb, self.gru = h, nn.Embedding(n, h), nn.GRU(h, h)

    def forward(self, x, hid):
        return self.gru(self.emb(x).view(1, 1, -1), hid)

    def initHidden(self):
        return torch.zeros(1, 1, self.h)


class Dec(nn.Module):
    def __init__(self, h, n):
        super().__init__()
        self.emb, self.gru, self.out = nn.Embedding(n, h), nn.GRU(h, h), nn.Linear(h, n)

    def forward(self, x, hid):
        o, hid = self.gru(torch.relu(self.emb(x).view(1, 1, -1)), hid)
        return self.out(o[0]).log_softmax(1), hid


pairs = [(torch.randint(0, 8, (3, 1)), torch.randint(0, 8, (4, 1))) for _ in range(2)]
total = trainIters(Enc(8, 6), Dec(6, 8), pairs, 4)

# torch: torch.is_tensor(total) and total.requires_grad
