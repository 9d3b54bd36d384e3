import torch
import torch.nn as nn


def img2mse(x, y):
    return torch.mean((x - y) ** 2)


class NeRF(nn.Module):
    def __init__(self, W=16):
        super().__init__()
        self.pts_linears = nn.ModuleList([nn.Linear(3, W), nn.Linear(W + 3, W)])
        self.alpha_linear, self.rgb_linear = nn.Linear(W, 1), nn.Linear(W, 3)

    def forward(self, pts):
        h = torch.relu(self.pts_linears[0](pts))
        h = torch.relu(self.pts_linears[1](torch.cat([pts, h], -1)))
        return torch.cat([self.rgb_linear(h), self.alpha_linear(h)], -1)


def raw2outputs(raw, z_vals):
    dists = z_vals[..., 1:] - z_vals[..., :-1]
    dists = torch.cat([dists, torch.full_like(dists[..., :1], 1e10)], -1)
    rgb = torch.sigmoid(raw[..., :3])
    alpha = 1.0 - torch.exp(-torch.relu(raw[..., 3]) * dists)
    weights = alpha * torch.cumprod(torch.cat([torch.ones((alpha.shape[0], 1)), 1.0 - alpha + 1e-10], -1), -1)[:, :-1]
    return torch.sum(weights[..., None] * rgb, -2), weights


def render_rays(rays, coarse, fine, n=4):
    o, d = rays
    z_vals = torch.linspace(2.0, 6.0, n).expand(o.shape[0], n)
    pts = o[:, None] + d[:, None] * z_vals[..., None]
    rgb0, weights = raw2outputs(coarse(pts), z_vals)
    z_mid = z_vals + weights * 0.1
    z_fine, _ = torch.sort(torch.cat([z_vals, z_mid], -1), -1)
    pts = o[:, None] + d[:, None] * z_fine[..., None]
    rgb, _ = raw2outputs(fine(pts), z_fine)
    return {"rgb_map": rgb, "rgb0": rgb0}


def train(N_iters=3):
    coarse, fine = NeRF(), NeRF()
    opt_c = torch.optim.Adam(coarse.parameters(), lr=5e-4)
    opt_f = torch.optim.Adam(fine.parameters(), lr=5e-4)
    for i in range(N_iters):
        rays, target = (torch.rand(6, 3), torch.rand(6, 3)), torch.rand(6, 3)
        ret = render_rays(rays, coarse, fine)
        opt_c.zero_grad()
        loss_coarse = img2mse(ret["rgb0"], target)
        loss_coarse.backward()
        opt_c.step()

        opt_f.zero_grad()
        loss_fine = img2mse(ret["rgb_map"], target)
        loss_fine.backward()  # error: [double-backward] # raises: RuntimeError "second time"
        opt_f.step()
        psnr = -10.0 * torch.log10(loss_fine.detach())
        print(i, psnr.item())


train()
