import torch
from torch import nn


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({"a": nn.Conv2d(3, 4, 3, padding=1), "b": nn.Conv2d(4, 4, 3, padding=1)})

    def forward(self, x, end):
        for name, layer in self.layers.items():
            x = torch.relu(layer(x))
            if name == end:
                break
        return x


def jitter(image, tau=2):
    ox, oy = (int(v) for v in torch.randint(-tau, tau + 1, (2,)))
    return torch.roll(image, (ox, oy), dims=(2, 3))


def step(net, image, end, lr):
    activation = net(jitter(image), end)
    loss = activation.norm()
    loss.backward()
    grad = image.grad
    image += lr * grad / (grad.abs().mean() + 1e-8)  # error: [inplace-on-leaf] # raises: RuntimeError "leaf Variable"
    image.grad.zero_()
    return loss.item()


def dream(net, base, octaves=2, iterations=2):
    shapes = [tuple(s // 2**k for s in base.shape[2:]) for k in range(octaves)][::-1]
    image = nn.functional.interpolate(base, size=shapes[0])
    for shape in shapes:
        image = nn.functional.interpolate(image.detach(), size=shape).requires_grad_(True)
        for _ in range(iterations):
            step(net, image, "b", 0.1)
    return image.detach()


network = Features().eval()
for p in network.parameters():
    p.requires_grad_(False)
print(dream(network, torch.rand(1, 3, 8, 8)).shape)
