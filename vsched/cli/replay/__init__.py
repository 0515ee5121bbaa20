"""``vsched replay``."""
