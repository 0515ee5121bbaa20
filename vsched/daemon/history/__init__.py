"""Keeps usage history in an object of the cluster."""
