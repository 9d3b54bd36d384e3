"""Diagnostics as text for people, scripts and services: one file a format, each a pure function of a `Report`."""
