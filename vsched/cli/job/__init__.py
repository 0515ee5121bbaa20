"""``vsched job``."""
