import torch
import torch.nn.functional as F

from model import Finetuned

CONFIG = {"backbone": "tiny8", "classes": 4, "lr": 1e-3, "steps": 3}


def main(cfg):
    torch.manual_seed(0)
    model = Finetuned(cfg["backbone"], cfg["classes"])
    optimizer = torch.optim.Adam(model.head.parameters(), lr=cfg["lr"])
    for step in range(cfg["steps"]):
        x, y = torch.rand(4, 3, 9, 9), torch.randint(0, cfg["classes"], (4,))
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()  # error: [detached-loss] # raises: RuntimeError
        optimizer.step()


if __name__ == "__main__":
    main(CONFIG)
