"""Volumes in a session: which nodes can serve the PersistentVolumeClaims of a task, and what is chosen for them."""
