"""Queues, the tree they make, namespaces and their quotas."""
