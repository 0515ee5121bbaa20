"""What queues, namespaces and users have used over time."""
