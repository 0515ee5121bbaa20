"""``vsched allocations``."""
