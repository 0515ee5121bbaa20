"""The rollout of a policy: what it is judged by, and the pure state machine."""
