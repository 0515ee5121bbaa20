"""One leader among several processes, by a Lease."""
