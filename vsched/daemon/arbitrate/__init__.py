"""Arbitration in the daemon: its rounds, and what others ask of it."""
