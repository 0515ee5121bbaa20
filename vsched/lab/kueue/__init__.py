"""Kueue's performance tests in virtual time: its generator and range files, a replay, and a table beside the gates."""
