"""One question to the daemons of several clusters: where a job starts first, and at what cost."""
