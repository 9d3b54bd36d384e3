from .crf import LinearCRF
from .model import Tagger
