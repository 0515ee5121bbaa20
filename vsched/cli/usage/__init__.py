"""``vsched usage``."""
