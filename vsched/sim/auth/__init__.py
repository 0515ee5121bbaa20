"""What those who ask may do."""
