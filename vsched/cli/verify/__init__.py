"""``vsched verify``."""
