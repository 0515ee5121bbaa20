"""Which nodes a pod fits, which of them is the best, and why others are not."""
