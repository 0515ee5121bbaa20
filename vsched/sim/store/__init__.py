"""The versioned store, its kinds and types, and selecting what is in it."""
