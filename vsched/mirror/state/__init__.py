"""What the mirror keeps of each kind of object."""
