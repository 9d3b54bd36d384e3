import torch
import torch.nn as nn
import torch.nn.functional as F


class MoCo(nn.Module):
    def __init__(self, base_encoder, dim=4, K=12, m=0.99, T=0.07):
        super().__init__()
        self.K, self.m, self.T = K, m, T
        self.encoder_q, self.encoder_k = base_encoder(dim), base_encoder(dim)
        for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            param_k.data.copy_(param_q.data)
        self.register_buffer("queue", F.normalize(torch.randn(dim, K), dim=0))
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _momentum_update_key_encoder(self):
        for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            param_k.data = param_k.data * self.m + param_q.data * (1.0 - self.m)

    def _dequeue_and_enqueue(self, keys):
        ptr = int(self.queue_ptr)
        self.queue = torch.cat([self.queue[:, keys.shape[0] :], keys.t()], dim=1)
        self.queue_ptr[0] = (ptr + keys.shape[0]) % self.K

    def forward(self, im_q, im_k):
        q = F.normalize(self.encoder_q(im_q), dim=1)
        self._momentum_update_key_encoder()
        k = F.normalize(self.encoder_k(im_k), dim=1)  # hint: [undetached-target]
        l_pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", [q, self.queue])
        logits = torch.cat([l_pos, l_neg], dim=1) / self.T
        labels = torch.zeros(logits.shape[0], dtype=torch.long)
        self._dequeue_and_enqueue(k)
        return logits, labels


def encoder(dim):
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, dim))


model = MoCo(encoder)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), 0.03, momentum=0.9, weight_decay=1e-4)
for i, images in enumerate(torch.rand(4, 2, 4, 6)):
    output, target = model(im_q=images[0], im_k=images[1])
    loss = criterion(output, target)
    optimizer.zero_grad()
    loss.backward()  # error: [carried-graph] # raises: RuntimeError "second time"
    optimizer.step()
