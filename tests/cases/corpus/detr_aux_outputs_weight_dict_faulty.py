import torch
import torch.nn.functional as F
from torch import nn


class SetCriterion(nn.Module):
    def __init__(self, weight_dict, losses):
        super().__init__()
        self.weight_dict = weight_dict
        self.losses = losses

    def loss_labels(self, outputs, targets):
        return {"loss_ce": F.cross_entropy(outputs["pred_logits"].flatten(0, 1), targets["labels"].flatten())}

    @torch.no_grad()
    def loss_cardinality(self, outputs, targets):
        card = (outputs["pred_logits"].argmax(-1) != 0).sum(1)
        return {"cardinality_error": F.l1_loss(card.float(), torch.ones(card.shape))}

    @torch.no_grad()
    def loss_boxes(self, outputs, targets):
        return {"loss_bbox": F.l1_loss(outputs["pred_boxes"], targets["boxes"])}

    def get_loss(self, loss, outputs, targets):
        loss_map = {"labels": self.loss_labels, "cardinality": self.loss_cardinality, "boxes": self.loss_boxes}
        assert loss in loss_map, f"do you really want to compute {loss} loss?"
        return loss_map[loss](outputs, targets)

    def forward(self, outputs, targets):
        losses = {}
        for loss in self.losses:
            losses.update(self.get_loss(loss, outputs, targets))
        return losses


class DETR(nn.Module):
    def __init__(self, queries=3):
        super().__init__()
        self.query = nn.Embedding(queries, 8)
        self.cls, self.box = nn.Linear(8, 4), nn.Linear(8, 4)
        self.img = nn.Linear(6, 8)

    def forward(self, x):
        h = self.img(x).unsqueeze(1) + self.query.weight
        return {"pred_logits": self.cls(h), "pred_boxes": self.box(h).sigmoid()}


model = DETR()
criterion = SetCriterion({"loss_bbox": 5}, ["boxes", "cardinality"])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for _ in range(2):
    x = torch.randn(2, 6)
    targets = {"labels": torch.randint(0, 4, (2, 3)), "boxes": torch.rand(2, 3, 4)}
    loss_dict = criterion(model(x), targets)
    weight_dict = criterion.weight_dict
    losses = sum(loss_dict[k] * weight_dict[k] for k in loss_dict.keys() if k in weight_dict)
    optimizer.zero_grad()
    losses.backward()  # error: [detached-loss] # raises: RuntimeError "does not require grad"
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    optimizer.step()
