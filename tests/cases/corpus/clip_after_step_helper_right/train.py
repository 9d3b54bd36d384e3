import torch
from torch import nn
from optimisation import OptimizerWithClip


def main():
    torch.manual_seed(0)
    enc = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
    head = nn.Linear(8, 1)
    model = nn.Sequential(enc, head)
    opt = OptimizerWithClip(model.parameters(), 1e-3, max_norm=0.5)
    for step in range(5):
        x = torch.randn(4, 6, 8)
        loss = 100 * (model(x).mean(1) - x.mean((1, 2)).unsqueeze(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return opt


opt = main()
# torch: len(opt.norms) == 5
