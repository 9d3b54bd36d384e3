from .trainer import NodeTrainer
