from .attention import Attention
from .model import ViT
