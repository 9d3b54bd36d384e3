import torch
from torch import nn
import torch.nn.functional as F


class Solver:
    def __init__(self, num_k=2, lr=1e-3):
        self.G = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 6))
        self.C1, self.C2 = nn.Linear(6, 3), nn.Linear(6, 3)
        self.num_k = num_k
        self.opt_g = torch.optim.SGD(self.G.parameters(), lr=lr)
        self.opt_c1 = torch.optim.SGD(self.C1.parameters(), lr=lr)
        self.opt_c2 = torch.optim.SGD(self.C2.parameters(), lr=lr)

    def reset_grad(self):
        for opt in (self.opt_g, self.opt_c1, self.opt_c2):
            opt.zero_grad()

    @staticmethod
    def discrepancy(a, b):
        return torch.mean(torch.abs(F.softmax(a, 1) - F.softmax(b, 1)))

    def classify(self, feat, y):
        return F.cross_entropy(self.C1(feat), y) + F.cross_entropy(self.C2(feat), y)

    def train(self, batches):
        for img_s, label_s, img_t in batches:
            self.reset_grad()
            self.classify(self.G(img_s), label_s).backward()
            for opt in (self.opt_g, self.opt_c1, self.opt_c2):
                opt.step()
            self.reset_grad()

            loss_s = self.classify(self.G(img_s), label_s)
            feat_t = self.G(img_t)
            loss = loss_s - self.discrepancy(self.C1(feat_t), self.C2(feat_t))
            loss.backward()
            self.opt_c1.step()
            self.opt_c2.step()
            self.reset_grad()

            for _ in range(self.num_k):
                feat_t = self.G(img_t)
                loss_dis = self.discrepancy(self.C1(feat_t), self.C2(feat_t))
                loss_dis.backward()
                self.opt_g.step()
                self.reset_grad()


Solver().train([(torch.rand(4, 5), torch.randint(0, 3, (4,)), torch.rand(4, 5)) for _ in range(2)])
