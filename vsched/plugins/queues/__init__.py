"""What the plugins about queues share."""
