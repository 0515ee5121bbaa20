"""Authorization by roles."""
