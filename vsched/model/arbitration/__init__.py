"""Records of arbitration: Consumers, Buckets, Allocations, namespaces, the division, and pools of shared room."""
