"""``vsched plan``."""
