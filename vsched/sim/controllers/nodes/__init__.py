"""Kubelets, the lifecycle of nodes, and what they report."""
