"""What is wrong with objects, as their owners are told."""
