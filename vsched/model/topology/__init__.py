"""Where nodes are: HyperNodes, the tiers that follow from them, and what jobs ask of them."""
