"""``vsched profile``."""
