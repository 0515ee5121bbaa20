"""The HTTP API: the server, its routes, watches, patches, faults."""
