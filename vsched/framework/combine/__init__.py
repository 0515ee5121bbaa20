"""The plugins of one policy, and how their answers are combined."""
