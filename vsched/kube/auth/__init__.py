"""How to reach an API server, and as whom."""
