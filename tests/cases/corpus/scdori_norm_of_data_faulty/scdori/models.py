import torch
from torch import nn
import torch.nn.functional as F


class ScDoRI(nn.Module):
    def __init__(self, genes, peaks, topics):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(genes + peaks, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, topics))
        self.topic_peak_decoder = nn.Parameter(torch.rand(topics, peaks))
        self.gene_peak_factor = nn.Parameter(torch.rand(genes, peaks))
        self.bias = nn.Parameter(torch.zeros(peaks))

    def forward(self, rna, atac):
        theta = F.softmax(self.encoder(torch.cat([rna, atac], dim=1)), dim=1)
        pred_atac = F.softmax(theta @ self.topic_peak_decoder + self.bias, dim=1)
        pred_rna = F.softmax(pred_atac @ self.gene_peak_factor.t(), dim=1)
        return theta, pred_atac, pred_rna
