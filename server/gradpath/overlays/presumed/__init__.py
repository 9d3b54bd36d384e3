"""What is presumed of unseen values: by their uses, their annotations, and last their names.

A program that makes all that it uses needs none of it, so that the modules are loaded where something is unseen.
"""

from gradpath.support.late_loading import load_late

load_late(__name__)
