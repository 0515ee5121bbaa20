"""``vsched rbac``."""
