"""Explains a pod, a PodGroup or a queue: why it waits, which changes would help, and when it may start.

All answers are pure functions of one snapshot, the policy, and the report of the session on that snapshot.
"""
