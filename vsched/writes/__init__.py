"""Everything that leaves for the API server: bindings, evictions, statuses, conditions and Events."""
