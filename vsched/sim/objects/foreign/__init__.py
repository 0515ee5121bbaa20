"""Definitions of other projects that the embedded cluster has from its start: reports on the NUMA zones of nodes, and
EvictionRequests.

Real clusters get the first from the agents that write the reports, and the others from Kubernetes, so vsched's chart
does not have them.
"""
