"""Momentum contrast with a queue of negatives."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class MoCo(nn.Module):
    def __init__(self, encoder, dim=8, K=32, m=0.99, T=0.2):
        super().__init__()
        self.K, self.m, self.T = K, m, T
        self.encoder_q = encoder
        self.encoder_k = copy.deepcopy(encoder)
        for param_k in self.encoder_k.parameters():
            param_k.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(dim, K), dim=0))
        self.queue_ptr = 0

    @torch.no_grad()
    def _momentum_update_key_encoder(self):
        for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            param_k.data = param_k.data * self.m + param_q.data * (1.0 - self.m)

    @torch.no_grad()
    def _dequeue_and_enqueue(self, keys):
        batch_size = keys.shape[0]
        ptr = self.queue_ptr
        self.queue[:, ptr : ptr + batch_size] = keys.T
        self.queue_ptr = (ptr + batch_size) % self.K

    def forward(self, im_q, im_k):
        q = F.normalize(self.encoder_q(im_q), dim=1)
        with torch.no_grad():
            self._momentum_update_key_encoder()
            k = F.normalize(self.encoder_k(im_k), dim=1)

        l_pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])
        logits = torch.cat([l_pos, l_neg], dim=1) / self.T
        labels = torch.zeros(logits.shape[0], dtype=torch.long)
        self._dequeue_and_enqueue(k)
        return logits, labels


def build_encoder(in_dim=10, dim=8):
    return nn.Sequential(nn.Linear(in_dim, 16), nn.ReLU(), nn.Linear(16, dim))


def augment(x):
    return x + 0.1 * torch.randn_like(x)


def train(loader, model, criterion, optimizer, epoch):
    model.train()
    running = 0.0
    for images in loader:
        output, target = model(im_q=augment(images), im_k=augment(images))
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"Epoch {epoch}: {running / len(loader):.4f}")


def main():
    torch.manual_seed(0)
    images = torch.randn(64, 10)
    model = MoCo(build_encoder())
    optimizer = torch.optim.SGD(model.encoder_q.parameters(), 0.03, momentum=0.9, weight_decay=1e-4)
    for epoch in range(2):
        loader = images[torch.randperm(len(images))].split(8)
        train(loader, model, nn.CrossEntropyLoss(), optimizer, epoch)


if __name__ == "__main__":
    main()
