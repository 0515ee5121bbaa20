"""Volumes: claims are bound, volumes are made, attached and reclaimed."""
