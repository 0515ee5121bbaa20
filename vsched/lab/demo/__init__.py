"""``vsched demo``: an embedded cluster, the daemon and many users."""
