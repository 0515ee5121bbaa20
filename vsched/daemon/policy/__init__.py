"""The policy in force, where it comes from, and the node usage it asks for."""
