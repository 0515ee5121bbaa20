"""Queues, the tree of queues, namespaces and their quotas."""
