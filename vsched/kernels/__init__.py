"""Arithmetic: arrays in, arrays out. Knows nodes and pods only as the model's tables and records."""
