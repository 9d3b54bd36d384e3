from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.autograd import grad


def hvp(y: Tensor | tuple[Tensor, ...], w: list[Tensor], v: list[Tensor]) -> tuple[Tensor, ...]:
    """Hessian-vector product, from first gradients that carry a graph."""
    elemwise = sum(torch.sum(g * vec.detach()) for g, vec in zip(y, v))
    return grad(elemwise, w)  # error: [carried-graph]  # raises: RuntimeError "a second time"


def s_test(z: Tensor, t: Tensor, model: nn.Module, train: list[tuple[Tensor, Tensor]], damp: float = 0.01, scale: float = 25.0, depth: int = 4) -> list[Tensor]:
    params = [p for p in model.parameters() if p.requires_grad]
    v = list(grad(nn.functional.cross_entropy(model(z), t), params))
    estimate = [each.clone() for each in v]
    x, y = train[0]
    loss = nn.functional.cross_entropy(model(x), y)
    first = grad(loss, params, create_graph=True)
    for _ in range(depth):
        hv = hvp(first, params, estimate)
        with torch.no_grad():
            estimate = [a + (1 - damp) * h - b / scale for a, h, b in zip(v, estimate, hv)]
    return [each / scale for each in estimate]


def influence(model: nn.Module, train: list[tuple[Tensor, Tensor]], test: tuple[Tensor, Tensor]) -> list[float]:
    vec = s_test(*test, model, train)
    params = [p for p in model.parameters() if p.requires_grad]
    scores = []
    for x, y in train:
        g = grad(nn.functional.cross_entropy(model(x), y), params)
        scores.append(-sum(torch.sum(a * b).item() for a, b in zip(g, vec)) / len(train))
    return scores


model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
points = [(torch.randn(1, 4), torch.randint(3, (1,))) for _ in range(5)]
print(influence(model, points, (torch.randn(1, 4), torch.randint(3, (1,)))))
