"""Access to a Kubernetes API server: connection, client, reflector, leader election. Nothing here knows scheduling."""
