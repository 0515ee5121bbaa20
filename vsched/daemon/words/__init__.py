"""All that the daemon says, by where it says it."""
