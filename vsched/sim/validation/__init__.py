"""Whether the API server takes an object, by kind."""
