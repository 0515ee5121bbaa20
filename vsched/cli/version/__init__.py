"""``vsched version``."""
