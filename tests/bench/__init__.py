"""Measurements on code that this project did not write; nothing here is a test."""
