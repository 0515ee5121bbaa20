"""vsched: an event-driven batch scheduler for Kubernetes that decides on arrays."""

__version__ = "0.1.0"
