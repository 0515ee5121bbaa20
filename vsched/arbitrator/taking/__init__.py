"""Taking back: which pods go, so that others have a place."""
