"""The node table, groups of nodes, and what nodes really use."""
