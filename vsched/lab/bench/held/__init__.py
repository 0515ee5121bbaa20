"""How long the event loop of a daemon is held, by what, and how long collections of garbage take."""
