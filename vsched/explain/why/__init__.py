"""What keeps a job from starting."""
