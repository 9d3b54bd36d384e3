"""Whole loops in another form, offered where a person asks for them, each proved by running the result."""
