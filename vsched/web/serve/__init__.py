"""Serving HTTP: addresses, TLS, limits, and who may look."""
