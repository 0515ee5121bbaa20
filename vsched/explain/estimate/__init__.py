"""When a job may start."""
