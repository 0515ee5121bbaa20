"""Recordings: a cycle (snapshot, policy, calls, report) to JSON and back."""
