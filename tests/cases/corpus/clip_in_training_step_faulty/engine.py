class Engine:
    """A small stand-in for a trainer."""

    def __init__(self, max_epochs, log_every=2):
        self.max_epochs, self.log_every = max_epochs, log_every
        self.global_step = 0

    def fit(self, module, loader):
        optimizer = module.configure_optimizers()
        for epoch in range(self.max_epochs):
            module.train()
            for batch_idx, batch in enumerate(loader):
                optimizer.zero_grad()
                loss = module.training_step(batch, batch_idx)
                loss.backward()
                optimizer.step()
                self.global_step += 1
                if self.global_step % self.log_every == 0:
                    print(self.global_step, module.logged)
