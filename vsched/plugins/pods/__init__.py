"""Code that the node plugins share: counts of pods on nodes, and the rules and scores made of them."""
