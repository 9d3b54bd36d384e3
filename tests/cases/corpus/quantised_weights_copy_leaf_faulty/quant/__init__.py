from .layers import QLinear, convert
