"""Finds the constraints that keep a job from starting."""
