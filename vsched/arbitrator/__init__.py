"""Arbitration: what each namespace deserves of the cluster, and what follows from it.

Pure code: it takes a snapshot with Consumers, Buckets and demand, and returns a division and a list of effects. A round
goes ``division.divide`` -> ``reconcile.reconcile`` (conditions, Allocations, overuse) -> ``taking`` (evictions).
"""
