"""``vsched replay`` with the flags of traces, of the fill test and of Kueue's performance tests."""
