"""``vsched top``."""
