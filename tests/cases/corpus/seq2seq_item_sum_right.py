import random

import torch
import torch.nn as nn
from torch import optim

SOS, EOS = 0, 1
MAX_LENGTH = 5


class EncoderRNN(nn.Module):
    def __init__(self, vocab, hidden_size):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)

    def forward(self, tokens):
        return self.gru(self.embedding(tokens))


class DecoderRNN(nn.Module):
    def __init__(self, hidden_size, vocab):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.out = nn.Linear(hidden_size, vocab)

    def forward(self, token, hidden):
        output, hidden = self.gru(torch.relu(self.embedding(token)), hidden)
        return self.out(output[:, -1]), hidden


def train_step(source, target, encoder, decoder, encoder_optimizer, decoder_optimizer, criterion, teacher_forcing=0.5):
    encoder_optimizer.zero_grad()
    decoder_optimizer.zero_grad()
    _, hidden = encoder(source)
    token = torch.full((source.size(0), 1), SOS, dtype=torch.long)
    use_teacher_forcing = random.random() < teacher_forcing
    loss = torch.zeros(())
    for t in range(target.size(1)):
        logits, hidden = decoder(token, hidden)
        loss += criterion(logits, target[:, t])
        if use_teacher_forcing:
            token = target[:, t : t + 1]
        else:
            token = logits.topk(1).indices.detach()

    loss.backward()
    encoder_optimizer.step()
    decoder_optimizer.step()
    return loss.item() / target.size(1)


def reversal_batch(vocab, batch_size):
    source = torch.randint(2, vocab, (batch_size, MAX_LENGTH - 1))
    eos = torch.full((batch_size, 1), EOS)
    return torch.cat([source, eos], dim=1), torch.cat([source.flip(1), eos], dim=1)


def train_iters(encoder, decoder, n_iters, vocab, print_every=4, learning_rate=0.01):
    encoder_optimizer = optim.SGD(encoder.parameters(), lr=learning_rate)
    decoder_optimizer = optim.SGD(decoder.parameters(), lr=learning_rate)
    criterion = nn.CrossEntropyLoss()
    print_loss_total = 0
    for iteration in range(1, n_iters + 1):
        source, target = reversal_batch(vocab, 8)
        loss = train_step(source, target, encoder, decoder, encoder_optimizer, decoder_optimizer, criterion)
        print_loss_total += loss
        if iteration % print_every == 0:
            print(f"{iteration}: {print_loss_total / print_every:.4f}")
            print_loss_total = 0


if __name__ == "__main__":
    random.seed(1)
    torch.manual_seed(1)
    VOCAB = 12
    train_iters(EncoderRNN(VOCAB, 16), DecoderRNN(16, VOCAB), n_iters=8, vocab=VOCAB)
