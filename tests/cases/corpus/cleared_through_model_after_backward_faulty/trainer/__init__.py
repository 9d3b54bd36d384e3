from .supervised import SupervisedTrainer
