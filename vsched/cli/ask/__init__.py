"""Asking a running daemon or a cluster."""
