"""Renders edits as phrases for people, and as shell commands."""
