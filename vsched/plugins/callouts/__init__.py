"""What the plugin ``extender`` sends and understands."""
