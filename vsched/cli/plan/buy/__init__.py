"""``vsched plan --buy``: what each waiting gang would need to start."""
