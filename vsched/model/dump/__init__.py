"""A cycle to JSON and back."""
