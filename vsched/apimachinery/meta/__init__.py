"""What all kinds have in common: their registry and schemas, names, selectors, versions, times and errors."""
