import torch
from torch import nn
from torch.autograd import Function


class ReverseLayerF(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.alpha, None


class CNNModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.feature = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU(True), nn.Linear(12, 8))
        self.class_classifier = nn.Sequential(nn.Linear(8, 8), nn.ReLU(True), nn.Linear(8, 3))
        self.domain_classifier = nn.Sequential(nn.Linear(8, 8), nn.ReLU(True), nn.Linear(8, 2))

    def forward(self, x, alpha):
        feature = self.feature(x)
        return self.class_classifier(feature), self.domain_classifier(ReverseLayerF.apply(feature, alpha))


def main(n_epoch=1, steps=3):
    net = CNNModel()
    opt_feat = torch.optim.Adam(list(net.feature.parameters()) + list(net.class_classifier.parameters()), lr=1e-3)
    opt_dom = torch.optim.Adam(net.domain_classifier.parameters(), lr=1e-3)
    loss_class, loss_domain = nn.CrossEntropyLoss(), nn.CrossEntropyLoss()
    for epoch in range(n_epoch):
        for i in range(steps):
            p = float(i + epoch * steps) / n_epoch / steps
            alpha = 2.0 / (1.0 + torch.exp(torch.tensor(-10 * p)).item()) - 1
            s_img, s_label, t_img = torch.rand(4, 6), torch.randint(0, 3, (4,)), torch.rand(4, 6)
            class_output, s_domain = net(s_img, alpha)
            _, t_domain = net(t_img, alpha)
            err_s_label = loss_class(class_output, s_label)
            err_domain = loss_domain(s_domain, torch.zeros(4).long()) + loss_domain(t_domain, torch.ones(4).long())
            opt_feat.zero_grad()
            opt_dom.zero_grad()
            err_s_label.backward(retain_graph=True)
            opt_feat.step()  # error: [parameter-updated-before-backward]
            err_domain.backward()  # raises: RuntimeError "modified by an inplace"
            opt_dom.step()
            print(epoch, i, err_s_label.item(), err_domain.item())


if __name__ == "__main__":
    main()
