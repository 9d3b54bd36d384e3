def unpack(batch, device):
    noisy, clean = batch
    return noisy.to(device), clean.to(device)


def forward_batch(model, batch, criterion):
    """Loss and output for one batch."""
    device = next(model.parameters()).device
    noisy, clean = unpack(batch, device)
    restored = model(noisy)
    return criterion(restored, clean), restored
