"""``vsched demo``: an embedded cluster, the daemon and a busy crowd."""
