"""The versioned store, the kinds and types of its objects, and selectors."""
