import torch
from torch import nn


class FGM:
    def __init__(self, model):
        self.model = model
        self.backup = {}

    def attack(self, epsilon=1.0, emb_name="embedding"):
        for name, param in self.model.named_parameters():
            if param.requires_grad and emb_name in name:
                self.backup[name] = param.data.clone()
                norm = torch.norm(param.grad)
                if norm != 0 and not torch.isnan(norm):
                    r_at = epsilon * param.grad / norm
                    param.add_(r_at)  # error: [inplace-on-leaf] # raises: RuntimeError "a leaf Variable"

    def restore(self, emb_name="embedding"):
        for name, param in self.model.named_parameters():
            if param.requires_grad and emb_name in name:
                assert name in self.backup
                param.data = self.backup[name]
        self.backup = {}


class TextCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 6)
        self.convs = nn.ModuleList([nn.Conv1d(6, 4, k) for k in (2, 3)])
        self.fc = nn.Linear(8, 2)

    def forward(self, ids):
        x = self.embedding(ids).transpose(1, 2)
        return self.fc(torch.cat([torch.relu(c(x)).max(-1)[0] for c in self.convs], 1))


model = TextCNN()
fgm = FGM(model)
opt = torch.optim.Adam(model.parameters())
crit = nn.CrossEntropyLoss()
for _ in range(2):
    ids, y = torch.randint(0, 20, (3, 6)), torch.randint(0, 2, (3,))
    loss = crit(model(ids), y)
    loss.backward()
    fgm.attack()
    loss_adv = crit(model(ids), y)
    loss_adv.backward()
    fgm.restore()
    opt.step()
    model.zero_grad()
