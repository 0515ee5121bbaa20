"""Leader election by a Lease, as client-go does it: one leader among several processes."""
