"""A function that is handed an accelerator."""

import torch


def training_function(accelerator, model, optimizer, train_dataloader, lr_scheduler, criterion, num_epochs):
    model, optimizer, train_dataloader, lr_scheduler = accelerator.prepare(
        model, optimizer, train_dataloader, lr_scheduler
    )
    for epoch in range(num_epochs):
        model.train()
        for step, batch in enumerate(train_dataloader):
            x, y = batch
            outputs = model(x)
            loss = criterion(outputs, y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            lr_scheduler.step()
            optimizer.zero_grad()


from torch import nn


class Acc:
    sync_gradients = True

    def prepare(self, *a):
        return a

    def backward(self, loss):
        loss.backward()

    def clip_grad_norm_(self, p, n):
        torch.nn.utils.clip_grad_norm_(p, n)


m = nn.Linear(3, 1)
o = torch.optim.SGD(m.parameters(), lr=0.1)
training_function(Acc(), m, o, [(torch.randn(4, 3), torch.randn(4, 1))] * 3, torch.optim.lr_scheduler.StepLR(o, 1), nn.MSELoss(), 2)

# torch: m.weight.grad is None
