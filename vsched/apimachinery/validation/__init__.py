"""Validation of built-in kinds."""
