"""Consumers and Allocations: who deserves what of a cluster, and what is to be done about it (seed 001). Pure."""
