import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class StackAugmentedRNN(nn.Module):
    def __init__(self, vocab, hidden):
        super(StackAugmentedRNN, self).__init__()
        self.hidden_size = hidden
        self.encoder = nn.Embedding(vocab, hidden)
        self.rnn = nn.GRU(hidden, hidden)
        self.decoder = nn.Linear(hidden, vocab)

    def init_hidden(self):
        return torch.zeros(1, 1, self.hidden_size)

    def forward(self, inp, hidden):
        inp = self.encoder(inp.view(1, -1))
        output, hidden = self.rnn(inp.view(1, 1, -1), hidden)
        return self.decoder(output.view(1, -1)), hidden

    def evaluate(self, length):
        with torch.no_grad():
            hidden, tok = self.init_hidden(), torch.zeros(1, dtype=torch.long)
            out = [0]
            for _ in range(length):
                logits, hidden = self.forward(tok, hidden)
                tok = torch.multinomial(F.softmax(logits, dim=1), 1)[0]
                out.append(int(tok))
        return out


class Reinforcement(object):
    def __init__(self, generator, predictor, get_reward):
        super(Reinforcement, self).__init__()
        self.generator, self.predictor, self.get_reward = generator, predictor, get_reward
        self.optimizer = torch.optim.Adadelta(generator.parameters(), lr=0.01)

    def policy_gradient(self, n_batch=4, gamma=0.97, grad_clipping=None):
        rl_loss = 0
        self.optimizer.zero_grad()
        total_reward = 0
        for _ in range(n_batch):
            trajectory = self.generator.evaluate(5)
            reward = self.get_reward(trajectory, self.predictor)
            discounted_reward = reward
            total_reward += reward
            hidden = self.generator.init_hidden()
            trajectory_input = torch.tensor(trajectory)
            for p in range(len(trajectory) - 1):
                output, hidden = self.generator(trajectory_input[p : p + 1], hidden)
                log_probs = F.log_softmax(output, dim=1)
                top_i = trajectory_input[p + 1]
                rl_loss -= log_probs[0, top_i] * discounted_reward
                discounted_reward = discounted_reward * gamma
        rl_loss = rl_loss / n_batch
        total_reward = total_reward / n_batch
        rl_loss.backward()
        if grad_clipping is not None:
            torch.nn.utils.clip_grad_norm_(self.generator.parameters(), grad_clipping)
        self.optimizer.step()
        return total_reward, rl_loss.item()


RL = Reinforcement(StackAugmentedRNN(6, 8), None, lambda t, p: float(np.mean(np.array(t) == 3)) + 0.1)
for i in range(3):
    r, l = RL.policy_gradient(grad_clipping=10)
    print(i, r, l)
