from .neurons import LIF
from .net import SpikingNet
