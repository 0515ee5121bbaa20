"""The controllers that make pods from templates."""
