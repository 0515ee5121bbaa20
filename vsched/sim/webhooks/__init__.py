"""Mutating and validating webhooks: their configuration, the requests they review, and the calls."""
