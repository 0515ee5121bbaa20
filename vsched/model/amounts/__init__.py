"""Quantities, amounts of resources, lengths of time."""
