"""``vsched cluster``."""
