"""All that is said of the API server: of the way to it, its answers, its watches, and of leases."""
