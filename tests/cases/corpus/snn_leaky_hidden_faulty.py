import torch
import torch.nn as nn


class SurrogateHeaviside(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x > 0).float()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output / (1 + 25 * x.abs()) ** 2


spike_fn = SurrogateHeaviside.apply


class Leaky(nn.Module):
    def __init__(self, beta, threshold=1.0, init_hidden=True):
        super().__init__()
        self.threshold = threshold
        self.register_buffer("beta", torch.tensor(beta))
        self.init_hidden = init_hidden
        self.mem = torch.zeros(0)

    def reset_hidden(self):
        self.mem = torch.zeros(0)

    def forward(self, input_):
        if self.mem.shape != input_.shape:
            self.mem = torch.zeros_like(input_)
        reset = spike_fn(self.mem - self.threshold).detach()
        self.mem = self.beta * self.mem + input_ - reset * self.threshold
        return spike_fn(self.mem - self.threshold)


def reset(net):
    for layer in net.modules():
        if isinstance(layer, Leaky):
            layer.reset_hidden()


num_inputs, num_hidden, num_outputs, num_steps = 10, 16, 3, 4
net = nn.Sequential(
    nn.Linear(num_inputs, num_hidden),
    Leaky(beta=0.9),
    nn.Linear(num_hidden, num_outputs),
    Leaky(beta=0.9),
)


def forward_pass(net, num_steps, data):
    spk_rec = []
    for step in range(num_steps):
        spk_rec.append(net(data))
    return torch.stack(spk_rec)


optimizer = torch.optim.Adam(net.parameters(), lr=5e-4, betas=(0.9, 0.999))
loss_fn = nn.CrossEntropyLoss()
loss_hist = []
for epoch in range(1):
    for batch in range(5):
        data, targets = torch.rand(8, num_inputs), torch.randint(0, num_outputs, (8,))
        net.train()
        spk_rec = forward_pass(net, num_steps, data)
        loss_val = loss_fn(spk_rec.sum(0), targets)
        optimizer.zero_grad()
        loss_val.backward()  # error: [carried-graph] # raises: RuntimeError "second time"
        optimizer.step()
        loss_hist.append(loss_val.item())
