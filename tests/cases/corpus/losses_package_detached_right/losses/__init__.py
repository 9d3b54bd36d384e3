from .perceptual import PerceptualLoss
from .pixel import charbonnier

__all__ = ["PerceptualLoss", "charbonnier"]
