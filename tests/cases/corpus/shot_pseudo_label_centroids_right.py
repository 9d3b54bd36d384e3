import torch
import torch.nn as nn
import torch.nn.functional as F


class feat_bottleneck(nn.Module):
    def __init__(self, feature_dim, bottleneck_dim=6):
        super().__init__()
        self.bn = nn.BatchNorm1d(bottleneck_dim, affine=True)
        self.bottleneck = nn.Linear(feature_dim, bottleneck_dim)

    def forward(self, x):
        return self.bn(self.bottleneck(x))


def op_copy(optimizer):
    for param_group in optimizer.param_groups:
        param_group['lr0'] = param_group['lr']
    return optimizer


def lr_scheduler(optimizer, iter_num, max_iter, gamma=10, power=0.75):
    decay = (1 + gamma * iter_num / max_iter) ** (-power)
    for param_group in optimizer.param_groups:
        param_group['lr'] = param_group['lr0'] * decay
    return optimizer


def obtain_centroids(loader, netF, netB, netC):
    start_test = True
    with torch.no_grad():
        for inputs, _ in loader:
            feas = netB(netF(inputs))
            outputs = netC(feas)
            if start_test:
                all_fea, all_output = feas, outputs
                start_test = False
            else:
                all_fea = torch.cat((all_fea, feas), 0)
                all_output = torch.cat((all_output, outputs), 0)
    aff = F.softmax(all_output, dim=1)
    initc = aff.t() @ all_fea
    return initc / (1e-8 + aff.sum(dim=0)[:, None])


def train_target(args, loader):
    netF = nn.Sequential(nn.Linear(10, 12), nn.ReLU())
    netB = feat_bottleneck(12)
    netC = nn.Linear(6, 4)
    for k, v in netC.named_parameters():
        v.requires_grad = False
    param_group = [{'params': netF.parameters(), 'lr': args['lr'] * 0.1}, {'params': netB.parameters(), 'lr': args['lr']}]
    optimizer = op_copy(torch.optim.SGD(param_group))
    max_iter = args['max_epoch'] * len(loader)
    interval_iter = max_iter // args['interval']
    iter_num = 0
    while iter_num < max_iter:
        try:
            inputs, index = next(iter_test)
        except:
            iter_test = iter(loader)
            inputs, index = next(iter_test)
        if iter_num % interval_iter == 0:
            netF.eval()
            centroids = obtain_centroids(loader, netF, netB, netC)
            netF.train()
        iter_num += 1
        lr_scheduler(optimizer, iter_num=iter_num, max_iter=max_iter)
        features = netB(netF(inputs))
        outputs = netC(features)
        pred = F.normalize(features) @ F.normalize(centroids).t()
        loss = F.cross_entropy(pred, index) * args['cls_par']
        softmax_out = F.softmax(outputs, dim=1)
        loss += -(softmax_out * torch.log(softmax_out + 1e-5)).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return netF, netB


batches = [(torch.randn(6, 10), torch.randint(4, (6,))) for _ in range(4)]
train_target({'lr': 0.01, 'max_epoch': 3, 'interval': 2, 'cls_par': 0.3}, batches)
