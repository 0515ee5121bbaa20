"""What the benches say; help stands with the commands."""
