"""A client of a running daemon, for programs; the commands ask with it."""
