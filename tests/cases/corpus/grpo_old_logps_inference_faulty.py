from contextlib import nullcontext

import torch
import torch.nn.functional as F
from torch import nn


class TinyLM(nn.Module):
    def __init__(self, vocab=11, dim=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        h, _ = self.rnn(self.embed(ids))  # error: [inference-tensor-saved] # raises: RuntimeError "Inference tensors"
        return self.head(h)


def selective_log_softmax(logits, index):
    return torch.gather(logits.log_softmax(-1), dim=-1, index=index.unsqueeze(-1)).squeeze(-1)


class GRPOTrainer:
    def __init__(self, model, num_iterations=2, beta=0.0, epsilon=0.2):
        self.model = model
        self.num_iterations, self.beta, self.epsilon = num_iterations, beta, epsilon
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def _get_per_token_logps(self, ids):
        return selective_log_softmax(self.model(ids[:, :-1]), ids[:, 1:])

    def _generate_and_score(self, batch):
        with torch.inference_mode():
            ids = torch.randint(0, 11, (batch, 6))
            old_per_token_logps = self._get_per_token_logps(ids) if self.num_iterations > 1 else None
            rewards = (ids == 3).float().mean(1)
            advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
        return {"ids": ids, "old_per_token_logps": old_per_token_logps, "advantages": advantages}

    def compute_loss(self, inputs):
        per_token_logps = self._get_per_token_logps(inputs["ids"])
        old = inputs["old_per_token_logps"]
        old = per_token_logps.detach() if old is None else old
        coef_1 = torch.exp(per_token_logps - old)
        coef_2 = torch.clamp(coef_1, 1 - self.epsilon, 1 + self.epsilon)
        adv = inputs["advantages"].unsqueeze(1)
        return -torch.min(coef_1 * adv, coef_2 * adv).mean()

    def train(self, steps):
        for _ in range(steps):
            buffered = self._generate_and_score(4)
            for _ in range(self.num_iterations):
                with nullcontext():
                    loss = self.compute_loss(buffered)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            print(loss.item())


GRPOTrainer(TinyLM()).train(2)
