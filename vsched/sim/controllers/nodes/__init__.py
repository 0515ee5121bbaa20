"""Kubelets, the lifecycle of nodes, their status and usage."""
