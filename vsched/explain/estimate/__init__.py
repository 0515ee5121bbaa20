"""Estimates when a job may start, by cycles in virtual time."""
