from __future__ import print_function

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 4, 3)
        self.fc1 = nn.Linear(4 * 36, 10)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 1))
        return F.log_softmax(self.fc1(torch.flatten(x, 1)), dim=1)


def fgsm_attack(image, epsilon, data_grad):
    sign_data_grad = data_grad.sign()
    perturbed_image = image + epsilon * sign_data_grad
    return torch.clamp(perturbed_image, 0, 1)


def perturb(model, device, images, labels, epsilon):
    images = images.clone().detach().to(device)
    images.requires_grad = True
    output = model(images)
    loss = F.nll_loss(output, labels)
    model.zero_grad()
    loss.backward()  # error: [detached-loss] # raises: RuntimeError "not require grad"
    return fgsm_attack(images, epsilon, images.grad.data)


def test(model, device, test_loader, epsilon):
    correct, adv_examples = 0, []
    model.eval()
    with torch.no_grad():
        for data, target in test_loader:
            data, target = data.to(device), target.to(device)
            perturbed_data = perturb(model, device, data, target, epsilon)
            final_pred = model(perturbed_data).max(1, keepdim=True)[1]
            correct += final_pred.eq(target.view_as(final_pred)).sum().item()
    print("Epsilon: {}\tTest Accuracy = {}".format(epsilon, correct))
    return correct


epsilons = [0, 0.05, 0.1]
use_cuda = True
device = torch.device("cuda" if use_cuda and torch.cuda.is_available() else "cpu")
model = Net().to(device)
test_loader = [(torch.rand(2, 1, 8, 8), torch.randint(0, 10, (2,))) for _ in range(2)]
accuracies = []
for eps in epsilons:
    accuracies.append(test(model, device, test_loader, eps))
