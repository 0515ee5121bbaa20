"""The record of what a session has done so far: placements and amounts, with rollback and commit."""
