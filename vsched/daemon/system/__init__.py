"""The process: its service manager, its ports, its first contact with the API server."""
