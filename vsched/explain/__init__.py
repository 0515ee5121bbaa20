"""Why something waits, what would change that, and when it may start: pure answers from one session's sight."""
