"""Flags that several commands share, and what no flag takes."""
