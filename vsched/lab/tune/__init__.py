"""``vsched tune``: arguments of a policy searched for an objective, on replays of a trace."""
