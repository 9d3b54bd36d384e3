import torch
import torch.nn as nn
import torch.nn.functional as F


class RPN(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv1d(2, 4, 3, padding=1), nn.ReLU(), nn.Conv1d(4, 4, 3, padding=1), nn.ReLU())
        self.score = nn.Conv1d(4, 1, 1)

    def forward(self, x):
        f = self.backbone(x)
        return f, self.score(f)


class ROIHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, f):
        return self.fc2(F.relu(self.fc1(f.mean(-1))))


class Solver:
    def __init__(self):
        self.rpn, self.roi = RPN(), ROIHead()
        self.opt_rpn = torch.optim.SGD(self.rpn.parameters(), lr=0.1)
        self.opt_roi = torch.optim.SGD(self.roi.parameters(), lr=0.1)

    def zero(self):
        for o in (self.opt_rpn, self.opt_roi):
            o.zero_grad()

    def step(self, x, objness, label):
        self.zero()
        feats, score = self.rpn(x)
        rpn_loss = F.binary_cross_entropy_with_logits(score.squeeze(1), objness)
        rpn_loss.backward(retain_graph=True)
        self.opt_rpn.step()  # error: [parameter-updated-before-backward]
        roi_loss = F.cross_entropy(self.roi(feats), label)
        roi_loss.backward()  # raises: RuntimeError "modified by an inplace operation"
        self.opt_roi.step()
        return {"rpn": rpn_loss.item(), "roi": roi_loss.item()}


solver = Solver()
for it in range(2):
    print(solver.step(torch.randn(2, 2, 6), torch.randint(0, 2, (2, 6)).float(), torch.randint(0, 3, (2,))))
