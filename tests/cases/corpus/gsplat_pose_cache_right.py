from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class Camera:
    uid: int
    c2w: torch.Tensor
    image: torch.Tensor
    w2v: torch.Tensor = field(default=None)


class PoseAdjust(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.embeds = nn.Embedding(n, 3)
        nn.init.zeros_(self.embeds.weight)

    def forward(self, c2w, uid):
        shift = self.embeds(torch.tensor([uid]))[0]
        top = torch.cat([c2w[:3, :3], (c2w[:3, 3] + shift).unsqueeze(1)], dim=1)
        return torch.cat([top, c2w[3:]], dim=0)


class Scene:
    def __init__(self, n_views=2, n_points=5):
        self.points = nn.Parameter(torch.rand(n_points, 3))
        self.colors = nn.Parameter(torch.rand(n_points, 3))
        self.pose_adjust = PoseAdjust(n_views)
        self.cameras = [Camera(i, torch.eye(4), torch.rand(3)) for i in range(n_views)]

    def parameters(self):
        return [self.points, self.colors, *self.pose_adjust.parameters()]


def render(scene, camera):
    homogeneous = torch.cat([scene.points, torch.ones(len(scene.points), 1)], dim=1)
    view = homogeneous @ camera.w2v.t()
    weights = torch.softmax(-view[:, 2], dim=0)
    return (weights.unsqueeze(1) * torch.sigmoid(scene.colors)).sum(0)


def training(iterations=5):
    scene = Scene()
    optimizer = torch.optim.Adam(scene.parameters(), lr=1e-2, eps=1e-15)
    stack = None
    ema_loss = 0.0
    for iteration in range(1, iterations + 1):
        if not stack:
            stack = scene.cameras.copy()
        viewpoint_cam = stack.pop()
        if viewpoint_cam.w2v is None:
            viewpoint_cam.w2v = torch.linalg.inv(viewpoint_cam.c2w)
        adjusted = scene.pose_adjust(torch.linalg.inv(viewpoint_cam.w2v).detach(), viewpoint_cam.uid)
        viewpoint_cam.w2v = torch.linalg.inv(adjusted)
        loss = (render(scene, viewpoint_cam) - viewpoint_cam.image).abs().mean()
        loss.backward()
        with torch.no_grad():
            ema_loss = 0.4 * loss.item() + 0.6 * ema_loss
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    return ema_loss


if __name__ == "__main__":
    print(training())
