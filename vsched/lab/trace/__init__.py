"""``vsched replay --trace``: a trace of a cluster under several policies, on virtual time."""
