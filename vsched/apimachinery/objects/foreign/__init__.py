"""Definitions of other projects that the embedded cluster has from its start: reports on the NUMA zones of nodes,
EvictionRequests, ProvisioningRequests and CapacityBuffers.

Real clusters get the first from the agents that write the reports, the second from Kubernetes and the others from node
autoscalers, so vsched's chart does not have them.
"""
