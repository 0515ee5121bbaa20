"""What pods need besides a node: volumes and devices, the claims for them, and what is decided about these."""
