"""Nodes, pods and workloads for an embedded cluster, from descriptions."""
