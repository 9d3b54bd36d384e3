from .callbacks import Callback, EarlyStopping, History
from .loop import Loop
