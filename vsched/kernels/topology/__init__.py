"""Which nodes are close to each other: HyperNodes and node labels in, one array of integers a tier out."""
