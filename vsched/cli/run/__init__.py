"""``vsched run``."""
