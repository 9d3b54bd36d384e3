"""Whole loops in another form."""
