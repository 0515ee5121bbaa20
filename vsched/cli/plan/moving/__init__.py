"""``vsched plan --consolidate``: which pods would be moved so that a job has room."""
