import torch
import torch.nn as nn

START, STOP = "<START>", "<STOP>"


class BiLSTM_CRF(nn.Module):
    def __init__(self, vocab_size, tag_to_ix, emb, hid):
        super().__init__()
        self.tag_to_ix = tag_to_ix
        self.tagset_size = len(tag_to_ix)
        self.word_embeds = nn.Embedding(vocab_size, emb)
        self.lstm = nn.LSTM(emb, hid // 2, num_layers=1, bidirectional=True)
        self.hidden2tag = nn.Linear(hid, self.tagset_size)
        self.transitions = nn.Parameter(torch.randn(self.tagset_size, self.tagset_size))
        self.transitions[tag_to_ix[START], :] = -10000  # error: [inplace-on-leaf] # raises: RuntimeError "a leaf Variable"
        self.transitions.data[:, tag_to_ix[STOP]] = -10000

    def _forward_alg(self, feats):
        forward_var = torch.full((1, self.tagset_size), -10000.0)
        forward_var[0][self.tag_to_ix[START]] = 0.0
        for feat in feats:
            alphas_t = []
            for next_tag in range(self.tagset_size):
                emit_score = feat[next_tag].view(1, -1).expand(1, self.tagset_size)
                trans_score = self.transitions[next_tag].view(1, -1)
                alphas_t.append(torch.logsumexp(forward_var + trans_score + emit_score, dim=1).view(1))
            forward_var = torch.cat(alphas_t).view(1, -1)
        terminal_var = forward_var + self.transitions[self.tag_to_ix[STOP]]
        return torch.logsumexp(terminal_var, dim=1)

    def _get_lstm_features(self, sentence):
        embeds = self.word_embeds(sentence).view(len(sentence), 1, -1)
        lstm_out, _ = self.lstm(embeds)
        return self.hidden2tag(lstm_out.view(len(sentence), -1))

    def neg_log_likelihood(self, sentence, tags):
        feats = self._get_lstm_features(sentence)
        score = sum(feat[tag] for feat, tag in zip(feats, tags))
        return (self._forward_alg(feats) - score).sum()


tag_to_ix = {"B": 0, "I": 1, "O": 2, START: 3, STOP: 4}
model = BiLSTM_CRF(10, tag_to_ix, 5, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, weight_decay=1e-4)
for epoch in range(2):
    for sentence, tags in [(torch.tensor([0, 1, 2]), [0, 1, 2])]:
        model.zero_grad()
        loss = model.neg_log_likelihood(sentence, tags)
        loss.backward()
        optimizer.step()
