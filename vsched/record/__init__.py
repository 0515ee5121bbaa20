"""What happened to the work of a cluster: the lines of a trace, who writes them, and how they are read."""
