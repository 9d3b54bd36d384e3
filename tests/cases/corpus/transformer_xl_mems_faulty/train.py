import argparse
import torch
from xl import MemTransformer

parser = argparse.ArgumentParser()
parser.add_argument("--tgt_len", type=int, default=6)
parser.add_argument("--batch", type=int, default=2)
parser.add_argument("--max_step", type=int, default=8)
parser.add_argument("--clip", type=float, default=0.25)
args = parser.parse_args([])

torch.manual_seed(0)
corpus = torch.randint(0, 20, (args.batch, 200))
model = MemTransformer(20)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
train_step, train_loss = 0, 0.0


def get_batches():
    for i in range(0, corpus.size(1) - 1 - args.tgt_len, args.tgt_len):
        yield corpus[:, i : i + args.tgt_len], corpus[:, i + 1 : i + 1 + args.tgt_len]


def train():
    global train_step, train_loss
    model.train()
    mems = tuple()
    for data, target in get_batches():
        model.zero_grad()
        ret = model(data, target, *mems)
        loss, mems = ret[0], ret[1:]
        loss.backward()  # error: [carried-graph] # raises: RuntimeError
        train_loss += loss.float().item()
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        train_step += 1
        if train_step >= args.max_step:
            break


train()
print(train_loss / train_step)
