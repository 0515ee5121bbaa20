"""Which of several daemons acts, and how others find it."""
