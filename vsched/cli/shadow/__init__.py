"""``vsched shadow``."""
