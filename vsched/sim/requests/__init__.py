"""Requests, their attributes and options, and answers."""
