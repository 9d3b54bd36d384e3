import torch
from torch import nn


class BoxCoder:
    def __init__(self, weights=(10.0, 10.0, 5.0, 5.0)):
        self.weights = weights

    def decode(self, deltas, anchors):
        cx, cy, w, h = anchors.unbind(-1)
        dx, dy, dw, dh = deltas.unbind(-1)
        dx /= self.weights[0]  # error: [inplace-on-view] # raises: RuntimeError "modified inplace"
        dy /= self.weights[1]
        return torch.stack([dx * w + cx, dy * h + cy, w * dw.clamp(max=4).exp(), h * dh.clamp(max=4).exp()], -1)


class RPN(nn.Module):
    def __init__(self, anchors=3):
        super().__init__()
        self.trunk = nn.Conv2d(3, 8, 3, padding=1)
        self.cls, self.reg = nn.Conv2d(8, anchors, 1), nn.Conv2d(8, anchors * 4, 1)
        self.coder = BoxCoder()

    def forward(self, x, anchors):
        h = torch.relu(self.trunk(x))
        reg = self.reg(h).permute(0, 2, 3, 1).reshape(x.size(0), -1, 4)
        return self.cls(h).flatten(1), self.coder.decode(reg, anchors)


def giou(a, b):
    return 1 - (torch.minimum(a, b).clamp(min=0) / (torch.maximum(a, b).abs() + 1e-6)).mean()


if __name__ == "__main__":
    net = RPN()
    opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    anchors = torch.rand(4 * 4 * 3, 4)
    for step in range(2):
        logits, boxes = net(torch.rand(2, 3, 4, 4), anchors)
        loss = giou(boxes, torch.rand_like(boxes)) + nn.functional.softplus(logits).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
