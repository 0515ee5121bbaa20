"""Changes and constraints in sentences, and as commands."""
