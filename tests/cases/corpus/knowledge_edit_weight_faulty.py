import torch
from torch import nn


class Output(nn.Module):
    def __init__(self, ff, dim):
        super().__init__()
        self.dense = nn.Linear(ff, dim)
        self.LayerNorm = nn.LayerNorm(dim)

    def forward(self, hidden, inputs):
        return self.LayerNorm(self.dense(hidden) + inputs)


class Layer(nn.Module):
    def __init__(self, dim=8, ff=16):
        super().__init__()
        self.intermediate = nn.Linear(dim, ff)
        self.output = Output(ff, dim)

    def forward(self, x):
        return self.output(torch.relu(self.intermediate(x)), x)


class Encoder(nn.Module):
    def __init__(self, layers=3):
        super().__init__()
        self.layer = nn.ModuleList([Layer() for _ in range(layers)])

    def forward(self, x):
        for layer in self.layer:
            x = layer(x)
        return x


class Bert(nn.Module):
    def __init__(self, vocab=20):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, 8)
        self.encoder = Encoder()
        self.cls = nn.Linear(8, vocab)

    def forward(self, ids):
        return self.cls(self.encoder(self.embeddings(ids)))


def edit(model, neurons, ori, tgt, lambdas):
    ori_emb, tgt_emb = model.embeddings.weight[ori], model.embeddings.weight[tgt]
    for i, (layer, pos) in enumerate(neurons):
        model.encoder.layer[layer].output.dense.weight[:, pos] -= ori_emb * lambdas[i]  # error: [inplace-on-leaf] # raises: RuntimeError "leaf Variable"
        model.encoder.layer[layer].output.dense.weight[:, pos] += tgt_emb * lambdas[i]


def main():
    model = Bert()
    before = model(torch.tensor([[1, 2, 3]])).argmax(-1)
    neurons = [[0, 3], [2, 7]]
    edit(model, neurons, ori=4, tgt=5, lambdas=[1.0, 2.0])
    after = model(torch.tensor([[1, 2, 3]])).argmax(-1)
    print((before != after).float().mean().item())


main()
