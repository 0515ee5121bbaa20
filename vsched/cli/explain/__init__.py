"""``vsched explain``."""
