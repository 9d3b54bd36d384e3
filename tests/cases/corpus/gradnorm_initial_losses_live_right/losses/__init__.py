from losses.relative import RelativeTaskLoss
