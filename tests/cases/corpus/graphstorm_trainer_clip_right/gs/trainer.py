import abc
import time

import torch as th


class GSgnnTrainer(abc.ABC):
    def __init__(self, model):
        self._model = model
        self.optimizer = model.create_optimizer()
        self.log = []

    def log_metric(self, name, value, step):
        self.log.append((step, name, value))

    @abc.abstractmethod
    def fit(self, train_loader, num_epochs, **kwargs):
        ...


class NodeTrainer(GSgnnTrainer):
    def _fit_one_mini_batch(self, model, input_nodes, blocks, labels):
        return model(blocks, input_nodes, labels)

    def fit(self, train_loader, num_epochs, max_grad_norm=None, grad_norm_type=2.0, freeze_input_layer_epochs=0):
        model = self._model
        total_steps = 0
        dur = []
        for epoch in range(num_epochs):
            model.train()
            t0 = time.time()
            for i, (input_nodes, seeds, blocks) in enumerate(train_loader):
                total_steps += 1
                loss = self._fit_one_mini_batch(model, input_nodes, blocks, seeds)
                self.optimizer.zero_grad()
                loss.backward()
                if max_grad_norm is not None:
                    th.nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm, grad_norm_type)
                self.optimizer.step()
                self.log_metric("Train loss", loss.item(), total_steps)
                if i % 20 == 0:
                    print("Epoch %05d | Batch %03d | Loss %.4f" % (epoch, i, loss.item()))
            dur.append(time.time() - t0)
        return total_steps
