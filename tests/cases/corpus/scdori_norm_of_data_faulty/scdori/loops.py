import logging

import torch
from torch.nn.functional import poisson_nll_loss

logger = logging.getLogger(__name__)


def weight_norms(model):
    l1_norm = torch.norm(model.topic_peak_decoder.data, p=1) + torch.norm(model.gene_peak_factor.data, p=1)  # warning: [detached-term] at "model.topic_peak_decoder.data"  # warning: [detached-term] at "model.gene_peak_factor.data"
    l2_norm = torch.norm(model.topic_peak_decoder.data, p=2) + torch.norm(model.gene_peak_factor.data, p=2)
    return l1_norm, l2_norm


def batch_loss(model, batch, config):
    rna, atac = batch
    theta, pred_atac, pred_rna = model(rna, atac)
    loss_atac = poisson_nll_loss(pred_atac * atac.sum(1, keepdim=True), atac, log_input=False)
    loss_rna = poisson_nll_loss(pred_rna * rna.sum(1, keepdim=True), rna, log_input=False)
    l1_norm, l2_norm = weight_norms(model)
    loss_norm = config.l1_penalty * l1_norm + config.l2_penalty * l2_norm
    return loss_atac + config.weight_rna * loss_rna + loss_norm, loss_norm


def train_phase(model, loader, config):
    optimizer = torch.optim.Adam(model.parameters(), lr=config.lr)
    patience, best = 0, float("inf")
    for epoch in range(config.epochs):
        model.train()
        running = 0.0
        for batch in loader:
            optimizer.zero_grad()
            loss, norm = batch_loss(model, batch, config)
            loss.backward()
            optimizer.step()
            running += loss.item()
        logger.info("epoch %d: %.3f (norm %.3f)", epoch, running / len(loader), norm.item())
        if running < best:
            best, patience = running, 0
        else:
            patience += 1
            if patience > config.patience:
                break
    return norm
