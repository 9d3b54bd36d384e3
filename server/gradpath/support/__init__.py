"""Substitutes for what the standard library lacks or loads too slowly; nothing here knows PyTorch or Python source."""
