import torch
from torch import nn


class Backbone(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))

    @torch.inference_mode()
    def extract(self, x):
        self.eval()
        feats = self.body(x)
        return nn.functional.normalize(feats, dim=-1)


class DepthHead(nn.Module):
    def __init__(self, dim=6, bins=5):
        super().__init__()
        self.conv = nn.Linear(dim, bins)
        self.bins = torch.linspace(0.1, 10, bins)

    def forward(self, feats):
        logit = self.conv(feats)  # error: [inference-tensor-saved] # raises: RuntimeError "Inference tensors"
        prob = torch.relu(logit) + 0.1
        prob = prob / prob.sum(dim=-1, keepdim=True)
        return prob @ self.bins


class Depther(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone, self.decode_head = Backbone(), DepthHead()

    def forward(self, img, depth_gt=None, return_loss=True):
        feats = self.backbone.extract(img)
        depth = self.decode_head(feats)
        if return_loss:
            return {"decode.loss_depth": (depth.log() - depth_gt.log()).pow(2).mean()}
        return depth


def parse_losses(losses):
    log_vars = {name: value.item() for name, value in losses.items()}
    loss = sum(value for name, value in losses.items() if "loss" in name)
    return loss, log_vars


def main():
    model = Depther()
    optimizer = torch.optim.AdamW(model.decode_head.parameters(), lr=1e-4)
    for i in range(3):
        losses = model(torch.rand(4, 6), depth_gt=torch.rand(4) + 0.1)
        loss, log_vars = parse_losses(losses)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(log_vars)


if __name__ == "__main__":
    main()
