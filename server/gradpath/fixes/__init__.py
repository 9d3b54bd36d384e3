"""Repairs: the edits of each transformation, the places where they are tried, and what a trial compares."""
