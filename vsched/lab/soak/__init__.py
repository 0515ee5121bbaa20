"""``vsched soak``: work comes and goes while requests fail and daemons are killed."""
