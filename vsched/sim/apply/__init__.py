"""Patches of all kinds, and server-side apply."""
