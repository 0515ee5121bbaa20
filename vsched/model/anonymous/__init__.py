"""Pseudonyms: replaces the names in snapshots and reports."""
