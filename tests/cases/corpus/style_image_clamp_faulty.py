"""Neural style transfer in miniature: the optimised variable is the image itself."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Features(nn.Module):
    def __init__(self, channels=(6, 8)):
        super().__init__()
        self.layers = nn.ModuleList()
        previous = 3
        for width in channels:
            self.layers.append(nn.Conv2d(previous, width, 3, padding=1))
            previous = width

    def forward(self, x):
        maps = []
        for layer in self.layers:
            x = torch.relu(layer(x))
            maps.append(x)
        return maps


def gram_matrix(features):
    b, c, h, w = features.size()
    flat = features.view(b, c, h * w)
    return torch.bmm(flat, flat.transpose(1, 2)) / (c * h * w)


def freeze(module):
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    return module.eval()


def run_style_transfer(network, content, style, steps=6, style_weight=100.0, content_weight=1.0):
    with torch.no_grad():
        content_targets = network(content)
        style_targets = [gram_matrix(features) for features in network(style)]

    generated = content.clone().requires_grad_(True)
    optimizer = torch.optim.Adam([generated], lr=0.05)
    for step in range(steps):
        maps = network(generated)
        content_loss = F.mse_loss(maps[-1], content_targets[-1])
        style_loss = sum(F.mse_loss(gram_matrix(m), g) for m, g in zip(maps, style_targets))
        loss = content_weight * content_loss + style_weight * style_loss

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        generated.clamp_(0, 1)  # error: [inplace-on-leaf] # raises: RuntimeError "a leaf Variable"
        if step % 2 == 0:
            print(f"step {step}: style {style_loss.item():.5f} content {content_loss.item():.5f}")
    return generated.detach()


def main():
    torch.manual_seed(0)
    network = freeze(Features())
    content, style = torch.rand(1, 3, 12, 12), torch.rand(1, 3, 12, 12)
    image = run_style_transfer(network, content, style)
    print("range", image.min().item(), image.max().item())


if __name__ == "__main__":
    main()
