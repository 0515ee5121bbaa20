"""Lists and watches, kept in step with a sink."""
