import torch
import torch.nn as nn


def optimise_s(s, p, weight, n_chunks=2, s_learning_rate=0.1, s_epochs=2):
    """Solve for the auxiliary variable chunk by chunk with plain gradient descent."""
    for chunk in torch.arange(s.shape[1]).chunk(n_chunks):
        for _ in range(s_epochs):
            s_batch = s[:, chunk].clone().detach().to(torch.float32)
            p_batch = p[:, chunk].to(torch.float32)
            s_batch.requires_grad_(True)
            swish = nn.functional.silu(s_batch)
            loss_s = (weight @ swish - p_batch).pow(2).mean()
            loss_s.backward()
            s_batch -= s_learning_rate * s_batch.grad  # error: [inplace-on-leaf] # raises: RuntimeError "a leaf Variable"
            s_batch.grad.zero_()
            s[:, chunk] = s_batch.detach().to(dtype=s.dtype)
        print(loss_s.item())
    return s


class Llama:
    def __init__(self, dim):
        self.up = nn.Linear(dim, dim, bias=False)
        for p in self.up.parameters():
            p.requires_grad = False

    def prune(self, x):
        s = self.up(x).T.contiguous()
        return optimise_s(s, torch.randn_like(s), torch.randn(s.shape[0], s.shape[0]))


print(Llama(6).prune(torch.randn(8, 6)).shape)
