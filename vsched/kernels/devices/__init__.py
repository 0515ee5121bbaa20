"""Devices as arrays: the inventory, which devices match, what is free of them, counts by node, and the exact search."""
