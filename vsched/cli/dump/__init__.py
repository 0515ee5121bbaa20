"""``vsched dump``."""
