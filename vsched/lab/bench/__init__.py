"""Benches: decisions, arbitration, end to end over HTTP, restarts, node usage."""
