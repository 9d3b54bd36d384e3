"""Old-style training code that still wraps everything in Variable."""

import torch
import torch.nn as nn
import torch.optim as optim
from torch.autograd import Variable


class Ranker(nn.Module):
    def __init__(self, num_features):
        super(Ranker, self).__init__()
        self.fc1 = nn.Linear(num_features, 12)
        self.fc2 = nn.Linear(12, 1)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.fc2(self.relu(self.fc1(x))).squeeze(1)


class PairwiseLoss(nn.Module):
    def __init__(self, margin=1.0):
        super(PairwiseLoss, self).__init__()
        self.margin = margin

    def forward(self, pos, neg):
        loss = torch.clamp(self.margin - pos + neg, min=0).mean()
        return Variable(loss.data, requires_grad=True)  # warning: [rewrapped-loss]


def generate_pairs(num_batches, batch_size, num_features):
    w = torch.randn(num_features)
    for _ in range(num_batches):
        a = torch.randn(batch_size, num_features)
        b = torch.randn(batch_size, num_features)
        better = (a @ w > b @ w).unsqueeze(1)
        yield torch.where(better, a, b), torch.where(better, b, a)


def train(ranker, criterion, optimizer, epochs, num_features):
    for epoch in range(epochs):
        running_loss = 0.0
        for i, (pos, neg) in enumerate(generate_pairs(6, 10, num_features)):
            pos, neg = Variable(pos), Variable(neg)
            optimizer.zero_grad()
            pos_scores = ranker(pos)
            neg_scores = ranker(neg)
            loss = criterion(pos_scores, neg_scores)
            loss.backward()
            optimizer.step()
            running_loss += loss.item()
            if i % 3 == 2:
                print("[%d, %5d] loss: %.3f" % (epoch + 1, i + 1, running_loss / 3))
                running_loss = 0.0
    print("Finished Training")


torch.manual_seed(42)
NUM_FEATURES = 5
ranker = Ranker(NUM_FEATURES)
initial = {name: value.clone() for name, value in ranker.state_dict().items()}
criterion = PairwiseLoss()
optimizer = optim.SGD(ranker.parameters(), lr=0.01, momentum=0.9)
train(ranker, criterion, optimizer, 2, NUM_FEATURES)

# torch: all(torch.equal(initial[name], value) for name, value in ranker.state_dict().items())
