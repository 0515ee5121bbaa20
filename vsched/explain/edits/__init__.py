"""Changes that could let a job start: each class applies itself, and says itself in words and as shell commands."""
