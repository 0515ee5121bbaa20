"""A daemon beside the scheduler in charge: it decides as if it were, and writes nothing."""
