"""Node selection: which nodes a pod fits, which of them is the best, and why it does not fit the others."""
