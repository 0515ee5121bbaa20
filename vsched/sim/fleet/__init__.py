"""Nodes, residents and sample gangs for an embedded cluster."""
