"""Definitions of other projects that the embedded cluster has from its start: reports on the NUMA zones of nodes.

Real clusters get them from the agents that write the reports, so vsched's chart does not have them.
"""
