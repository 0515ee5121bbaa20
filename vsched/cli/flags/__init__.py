"""Flags that several commands share, and checks of all flags."""
