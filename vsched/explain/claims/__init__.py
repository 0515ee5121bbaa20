"""Puts claims of waiting pods into words: what each asks for, and what it has."""
