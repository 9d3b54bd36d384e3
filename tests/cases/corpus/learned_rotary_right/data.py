import torch


def token_batches(config):
    stream = torch.randint(0, config.vocab_size, (200,))
    for _ in range(config.iterations):
        starts = torch.randint(0, len(stream) - config.block_size - 1, (config.batch_size,))
        x = torch.stack([stream[i : i + config.block_size] for i in starts])
        y = torch.stack([stream[i + 1 : i + 1 + config.block_size] for i in starts])
        yield x, y
