"""The changes that could let something start, by what is in its way."""
