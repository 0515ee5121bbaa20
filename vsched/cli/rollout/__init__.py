"""``vsched rollout``."""
