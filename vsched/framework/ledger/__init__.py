"""What a cycle has done so far: placements and amounts, undone and committed."""
