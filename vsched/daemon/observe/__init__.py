"""What a daemon counts, logs and shows of its work."""
