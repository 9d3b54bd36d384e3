"""Repairs: the edits of each transformation, the places where they are tried, and what a trial compares.

Most programs need none, so that the modules are loaded where one is asked for.
"""

from gradpath.support.late_loading import load_late

load_late(__name__)
