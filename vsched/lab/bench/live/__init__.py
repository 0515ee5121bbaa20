"""``vsched bench-live``: the whole way over HTTP, creation to binding, and what it costs the daemon."""
