"""Lists the levers, which are candidate changes for a waiting job, by what they change."""
