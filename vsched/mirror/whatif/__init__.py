"""A cluster on paper: a mirror made from a snapshot, and changed."""
