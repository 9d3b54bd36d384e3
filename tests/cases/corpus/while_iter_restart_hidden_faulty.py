"""Character model trained for a number of steps over an endless loader."""
import string

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

TEXT = "the quick brown fox jumps over the lazy dog " * 40
VOCAB = sorted(set(TEXT) | set(string.ascii_lowercase))
STOI = {c: i for i, c in enumerate(VOCAB)}
MAX_STEPS = 60
SEQ_LEN = 12
BATCH = 4


class Chunks(Dataset):
    def __init__(self, text, seq_len):
        self.ids = torch.tensor([STOI[c] for c in text])
        self.seq_len = seq_len

    def __len__(self):
        return (len(self.ids) - 1) // self.seq_len

    def __getitem__(self, i):
        s = i * self.seq_len
        return self.ids[s : s + self.seq_len], self.ids[s + 1 : s + 1 + self.seq_len]


class CharGRU(nn.Module):
    def __init__(self, vocab, hidden=24):
        super().__init__()
        self.hidden = hidden
        self.embed = nn.Embedding(vocab, 16)
        self.gru = nn.GRU(16, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def init_state(self, batch):
        return torch.zeros(1, batch, self.hidden)

    def forward(self, x, state):
        y, state = self.gru(self.embed(x), state)
        return self.out(y), state


def train(model, loader, steps):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=3e-3)
    it = iter(loader)
    step = 0
    state = model.init_state(BATCH)
    losses = []
    while step < steps:
        try:
            x, y = next(it)
        except StopIteration:
            it = iter(loader)
            state = model.init_state(BATCH)
            continue
        optimizer.zero_grad()
        logits, state = model(x, state)
        loss = criterion(logits.reshape(-1, logits.size(-1)), y.reshape(-1))
        loss.backward()  # error: [carried-graph] # raises: RuntimeError
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        losses.append(loss.item())
        step += 1
    return losses


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(Chunks(TEXT, SEQ_LEN), batch_size=BATCH, drop_last=True)
    history = train(CharGRU(len(VOCAB)), loader, MAX_STEPS)
    print(f"{history[0]:.3f} -> {history[-1]:.3f}")
