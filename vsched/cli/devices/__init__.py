"""``vsched devices``."""
