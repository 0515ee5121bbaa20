"""The wire to an API server: connection, client and reflector. Knows nothing of scheduling."""
