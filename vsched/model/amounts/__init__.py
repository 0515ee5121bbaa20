"""Quantities, amounts of resources, and durations."""
