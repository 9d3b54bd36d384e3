"""A regression that names `backward` and does not call it."""

import torch
from torch import nn, optim

torch.manual_seed(0)
x = torch.unsqueeze(torch.linspace(-1, 1, 50), dim=1)
y = x.pow(2) + 0.1 * torch.rand(x.size())


class Net(nn.Module):
    def __init__(self, n_feature, n_hidden, n_output):
        super(Net, self).__init__()
        self.hidden = nn.Linear(n_feature, n_hidden)
        self.predict = nn.Linear(n_hidden, n_output)

    def forward(self, x):
        return self.predict(torch.relu(self.hidden(x)))


net = Net(1, 10, 1)
start = net.hidden.weight.clone()
optimizer = optim.SGD(net.parameters(), lr=0.2)
loss_func = nn.MSELoss()
for t in range(5):
    prediction = net(x)
    loss = loss_func(prediction, y)
    optimizer.zero_grad()
    loss.backward
    optimizer.step()  # warning: [step-without-backward]
    if t % 5 == 0:
        print("Loss=%.4f" % loss.data.numpy())

# torch: torch.equal(start, net.hidden.weight)
