"""Character-level language model: an LSTM trained with truncated back-propagation through time."""

import math

import torch
import torch.nn as nn
import torch.optim as optim

TEXT = "the quick brown fox jumps over the lazy dog while the slow red hen sleeps under the old oak tree " * 6
BATCH_SIZE = 4
SEQ_LEN = 16
EPOCHS = 2
CLIP = 0.25


class CharLSTM(nn.Module):
    def __init__(self, vocab_size, embed_dim=16, hidden_dim=32, num_layers=2):
        super().__init__()
        self.hidden_dim = hidden_dim
        self.num_layers = num_layers
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.lstm = nn.LSTM(embed_dim, hidden_dim, num_layers, batch_first=True)
        self.head = nn.Linear(hidden_dim, vocab_size)

    def forward(self, tokens, hidden):
        output, hidden = self.lstm(self.embed(tokens), hidden)
        return self.head(output), hidden

    def init_hidden(self, batch_size):
        weight = next(self.parameters())
        shape = (self.num_layers, batch_size, self.hidden_dim)
        return weight.new_zeros(shape), weight.new_zeros(shape)


def batchify(text, batch_size):
    vocab = sorted(set(text))
    index = {char: i for i, char in enumerate(vocab)}
    data = torch.tensor([index[char] for char in text])
    length = data.numel() // batch_size
    return data[: length * batch_size].view(batch_size, length), len(vocab)


def get_batch(source, start):
    length = min(SEQ_LEN, source.size(1) - 1 - start)
    return source[:, start : start + length], source[:, start + 1 : start + 1 + length]


def train(model, source, criterion, optimizer, epoch):
    model.train()
    hidden = model.init_hidden(BATCH_SIZE)
    total_loss = 0.0
    for step, start in enumerate(range(0, source.size(1) - 1, SEQ_LEN)):
        tokens, targets = get_batch(source, start)
        optimizer.zero_grad()
        logits, hidden = model(tokens, hidden)
        loss = criterion(logits.flatten(0, 1), targets.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        total_loss += loss.item()
        if step % 4 == 3:
            print(f"epoch {epoch}, step {step}: perplexity {math.exp(total_loss / (step + 1)):.2f}")
    return total_loss


@torch.no_grad()
def sample(model, length=20):
    model.eval()
    token, hidden = torch.zeros(1, 1, dtype=torch.long), model.init_hidden(1)
    result = []
    for _ in range(length):
        logits, hidden = model(token, hidden)
        token = torch.multinomial(logits[:, -1].softmax(dim=-1), 1)
        result.append(token.item())
    return result


def main():
    torch.manual_seed(1)
    source, vocab_size = batchify(TEXT, BATCH_SIZE)
    model = CharLSTM(vocab_size)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    for epoch in range(1, EPOCHS + 1):
        train(model, source, criterion, optimizer, epoch)
    print(sample(model))


if __name__ == "__main__":
    main()
