"""``vsched queue``."""
