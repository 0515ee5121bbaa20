"""``vsched record``."""
