"""Kernels: pure functions on numpy arrays, and on the tables and records of the model. They keep no state."""
