"""``vsched check``."""
