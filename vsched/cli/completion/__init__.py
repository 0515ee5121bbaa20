"""``vsched completion``."""
