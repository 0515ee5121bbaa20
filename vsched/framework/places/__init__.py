"""Places: the tiers of a session, the domains that a job may use, and what fits there."""
