import numpy as np
import torch
from torch import nn


class AcousticModel(nn.Module):
    def __init__(self, feats=5, hid=8, vocab=6):
        super().__init__()
        self.rnn = nn.GRU(feats, hid, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hid, vocab)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.fc(out).log_softmax(-1)


def smooth(log_probs, k=3):
    arr = log_probs.detach().numpy()
    kernel = np.ones(k) / k
    arr = np.apply_along_axis(lambda m: np.convolve(m, kernel, mode="same"), 1, arr)
    return torch.from_numpy(arr.astype(np.float32))


model = AcousticModel()
opt = torch.optim.Adam(model.parameters())
ctc = nn.CTCLoss(zero_infinity=True)
for _ in range(2):
    x = torch.randn(2, 10, 5)
    targets = torch.randint(1, 6, (2, 3))
    log_probs = smooth(model(x)).transpose(0, 1)
    loss = ctc(log_probs, targets, torch.tensor([10, 10]), torch.tensor([3, 3]))
    opt.zero_grad()
    loss.backward()  # error: [detached-loss] # raises: RuntimeError "does not require grad"
    opt.step()
