import math
import types

import torch
import torch.nn.functional as F
from torch import nn


def l2norm(x, dim=-1, eps=1e-8):
    norm = torch.pow(x, 2).sum(dim=dim, keepdim=True).sqrt() + eps
    x /= norm  # error: [inplace-on-saved]
    return x


class EncoderImage(nn.Module):
    def __init__(self, opt):
        super().__init__()
        self.fc = nn.Linear(opt.img_dim, opt.embed_size)
        self.init_weights()

    def init_weights(self):
        r = math.sqrt(6.0) / math.sqrt(self.fc.in_features + self.fc.out_features)
        self.fc.weight.data.uniform_(-r, r)
        self.fc.bias.data.fill_(0)

    def forward(self, images):
        return l2norm(self.fc(images))


class EncoderText(nn.Module):
    def __init__(self, opt):
        super().__init__()
        self.embed = nn.Embedding(opt.vocab_size, opt.word_dim)
        self.rnn = nn.GRU(opt.word_dim, opt.embed_size, 1, batch_first=True)

    def forward(self, captions):
        _, h = self.rnn(self.embed(captions))
        return F.normalize(h[-1], dim=-1)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=0.2):
        super().__init__()
        self.margin = margin

    def forward(self, im, s):
        scores = im.mm(s.t())
        diagonal = scores.diag().view(im.size(0), 1)
        cost_s = (self.margin + scores - diagonal.expand_as(scores)).clamp(min=0)
        cost_im = (self.margin + scores - diagonal.t().expand_as(scores)).clamp(min=0)
        mask = torch.eye(scores.size(0)) > 0.5
        cost_s = cost_s.masked_fill_(mask, 0)
        cost_im = cost_im.masked_fill_(mask, 0)
        return cost_s.sum() + cost_im.sum()


class VSE:
    def __init__(self, opt):
        self.img_enc, self.txt_enc = EncoderImage(opt), EncoderText(opt)
        self.criterion = ContrastiveLoss()
        params = list(self.txt_enc.parameters())
        params += list(self.img_enc.fc.parameters())
        self.params = params
        self.optimizer = torch.optim.Adam(params, lr=opt.learning_rate)
        self.Eiters = 0

    def forward_emb(self, images, captions):
        return self.img_enc(images), self.txt_enc(captions)

    def train_emb(self, images, captions):
        self.Eiters += 1
        img_emb, cap_emb = self.forward_emb(images, captions)
        self.optimizer.zero_grad()
        loss = self.criterion(img_emb, cap_emb)
        loss.backward()  # raises: RuntimeError "modified by an inplace"
        nn.utils.clip_grad_norm_(self.params, 2.0)
        self.optimizer.step()
        return loss.item()


opt = types.SimpleNamespace(img_dim=6, embed_size=5, vocab_size=20, word_dim=4, learning_rate=2e-4)
model = VSE(opt)
for i in range(3):
    print(model.train_emb(torch.rand(4, 6), torch.randint(0, 20, (4, 3))))
