"""Nodes: the table of amounts, node groups by labels, and measured usage."""
