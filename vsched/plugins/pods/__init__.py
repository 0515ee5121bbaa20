"""What the plugins about nodes and the pods on them share."""
