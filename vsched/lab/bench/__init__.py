"""Benches: decisions, arbitration, the whole way over HTTP, restarts, node usage."""
