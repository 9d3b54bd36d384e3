import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


def gram_matrix(x):
    a, b, c, d = x.size()
    features = x.view(a * b, c * d)
    return torch.mm(features, features.t()).div(a * b * c * d)


class ContentLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = target.detach()

    def forward(self, x):
        self.loss = F.mse_loss(x, self.target)
        return x


class StyleLoss(nn.Module):
    def __init__(self, target_feature):
        super().__init__()
        self.target = gram_matrix(target_feature).detach()

    def forward(self, x):
        self.loss = F.mse_loss(gram_matrix(x), self.target)
        return x


def build(cnn, style_img, content_img):
    content_losses, style_losses = [], []
    model = nn.Sequential()
    i = 0
    for layer in cnn.children():
        if isinstance(layer, nn.Conv2d):
            i += 1
            name = "conv_{}".format(i)
        elif isinstance(layer, nn.ReLU):
            name = "relu_{}".format(i)
            layer = nn.ReLU(inplace=False)
        else:
            raise RuntimeError("Unrecognized layer: {}".format(layer.__class__.__name__))
        model.add_module(name, layer)
        if name in ("conv_2",):
            content_loss = ContentLoss(model(content_img))
            model.add_module("content_loss_{}".format(i), content_loss)
            content_losses.append(content_loss)
        if name in ("conv_1", "conv_2"):
            style_loss = StyleLoss(model(style_img))
            model.add_module("style_loss_{}".format(i), style_loss)
            style_losses.append(style_loss)
    return model, style_losses, content_losses


def run(cnn, content_img, style_img, input_img, num_steps=3):
    model, style_losses, content_losses = build(cnn, style_img, content_img)
    input_img.requires_grad_(True)
    model.eval()
    optimizer = torch.optim.Adam([input_img], lr=0.02)
    for step in range(num_steps):
        with torch.no_grad():
            input_img.clamp_(0, 1)
        optimizer.zero_grad()
        model(input_img)
        style_score, content_score = 0, 0
        for sl in style_losses:
            style_score += sl.loss
        for cl in content_losses:
            content_score += cl.loss
        loss = style_score * 1e5 + content_score
        loss.backward()
        optimizer.step()
        print(step, style_score.item(), content_score.item())
    return input_img


cnn = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1), nn.ReLU())
content, style = torch.rand(1, 3, 8, 8), torch.rand(1, 3, 8, 8)
run(copy.deepcopy(cnn), content, style, content.clone())
