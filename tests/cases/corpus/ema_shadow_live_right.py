import torch
import torch.nn as nn


class EMA():
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow, self.backup = {}, {}
        for name, param in model.named_parameters():
            if param.requires_grad:
                self.shadow[name] = param.data.clone()

    def update(self, model):
        for name, param in model.named_parameters():
            if param.requires_grad:
                assert name in self.shadow
                self.shadow[name] = (1.0 - self.decay) * param.data + self.decay * self.shadow[name]

    def apply_shadow(self, model):
        for name, param in model.named_parameters():
            if param.requires_grad:
                self.backup[name] = param.data
                param.data = self.shadow[name].detach()

    def restore(self, model):
        for name, param in model.named_parameters():
            if param.requires_grad:
                param.data = self.backup[name]
        self.backup = {}


class TextCNN(nn.Module):
    def __init__(self, vocab, dim, classes):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.convs = nn.ModuleList([nn.Conv1d(dim, 4, k) for k in (2, 3)])
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        x = self.emb(x).transpose(1, 2)
        return self.fc(torch.cat([torch.relu(c(x)).amax(2) for c in self.convs], 1))


def evaluate(model, batches):
    model.eval()
    with torch.no_grad():
        hits = [(model(x).argmax(1) == y).float().mean().item() for x, y in batches]
    model.train()
    return sum(hits) / len(hits)


torch.manual_seed(0)
model = TextCNN(20, 6, 2)
ema = EMA(model, 0.999)
optimizer = torch.optim.Adam(model.parameters())
batches = [(torch.randint(20, (4, 7)), torch.randint(2, (4,))) for _ in range(5)]
for epoch in range(2):
    for x, y in batches:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model)
    ema.apply_shadow(model)
    print(epoch, evaluate(model, batches))
    ema.restore(model)
# torch: not ema.shadow["fc.weight"].requires_grad
