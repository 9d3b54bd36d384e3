import torch
from torch.utils.data import DataLoader, TensorDataset


def rare_event_loader(samples, features, batch_size):
    x = torch.randn(samples, features)
    y = (x[:, :2].sum(dim=1, keepdim=True) > 1.5).float()
    return DataLoader(TensorDataset(x, y), batch_size=batch_size, shuffle=True)
